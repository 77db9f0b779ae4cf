"""English greetings with which calls are answered: kind, length in seconds, words as a recognizer gives them.

KNOWN were used to write the policy, and LOOKED_AT to widen it, with lengths of 2.7 words a second. HELD_BACK
and LATER were written before the policy ran on them, and it was not changed for them afterwards. From all of
these, from DRAWN, UNSEEN, LAST, MEASURED, RESERVED, BY_VOICE and FRESH, from `greeting_templates` and from
HEARD, which are some of both as a recognizer heard them, the weights of `greeting_odds` are learned.
`greetings_kept.tsv` has no part in them: it was for one measurement by sound, as those from MEASURED on were.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from voiceagent.session.agent import AnsweredBy

Row = tuple[AnsweredBy, float, str]

KNOWN: tuple[Row, ...] = (
    ("person", 0.5, "Hello?"),
    ("person", 0.4, "Hi."),
    ("person", 0.6, "Yeah, hello."),
    ("person", 0.9, "Hello, who is this?"),
    ("person", 1.0, "This is Dave."),
    ("person", 1.1, "Anna Miller speaking."),
    ("person", 2.0, "Miller's Bakery, how may I help you?"),
    ("person", 2.4, "Good morning, Smith and Sons, Karen speaking, how can I help you?"),
    ("person", 1.6, "Hi, this is Anna from the office."),
    ("person", 1.4, "Sorry, I can barely hear you, hello?"),
    ("person", 0.5, "Yes?"),
    ("person", 1.2, "Hey, what's up, man? How are you?"),
    ("voicemail", 4.0, "Hi, you've reached Tom. Leave a message after the beep."),
    ("voicemail", 5.0, "You have reached the voice mailbox of 5 5 5 0 1 2 3."),
    ("voicemail", 4.5, "The person you are trying to reach is not available. Please leave a message."),
    ("voicemail", 3.0, "Sorry I missed your call. I'll call you back."),
    ("voicemail", 2.0, "I can't come to the phone."),
    ("voicemail", 6.0, "Hey, it's Sue. I can't come to the phone right now, so leave your name and number."),
    ("voicemail", 8.0, "Your call has been forwarded to an automated voice messaging system."),
    ("voicemail", 7.0, "At the tone, please record your message. When you are finished, press 1 or hang up."),
    ("voicemail", 9.0, "We are closed. Our office is open Monday to Friday from nine to five. Thank you."),
    (
        "screener",
        5.0,
        "Hi, if you record your name and reason for calling, I'll see if this person is available.",
    ),
    ("screener", 5.0, "The person you're calling is using a screening service from Google."),
    ("screener", 4.0, "Please state your name and the purpose of your call."),
    ("screener", 4.0, "Before I try to connect you, can I ask what you are calling about?"),
    ("menu", 6.0, "Thank you for calling Acme. For sales, press 1. For support, press 2."),
    ("menu", 5.0, "Please listen carefully as our menu options have changed."),
    ("menu", 4.0, "If you know your party's extension, dial it now."),
    ("menu", 4.0, "This call may be recorded for quality assurance."),
    ("menu", 5.0, "Welcome to First Bank. Please say or enter your account number."),
    ("menu", 5.0, "To continue in English, press one."),
    ("menu", 5.0, "Please tell me why you're calling. You can say things like pay my bill."),
    ("person", 0.6, "Hello, hello?"),
    ("person", 0.7, "Yep, go ahead."),
    ("person", 0.8, "Peter here."),
    ("person", 1.5, "Good afternoon, front desk, Julie speaking."),
    ("person", 1.9, "Thanks for calling Joe's Pizza, what can I get you?"),
    ("person", 1.0, "Hey, is that you, Mom?"),
    ("person", 1.8, "Hello, Doctor Patel's office, can you hold, please?"),
    ("person", 2.2, "Hi, sorry, I'm driving, can you call me back later?"),
    ("person", 1.6, "No, she's not here right now, who's calling?"),
    ("person", 0.9, "Speaking. Who is this?"),
    ("person", 1.7, "Hello? I think you have the wrong number."),
    ("person", 1.5, "What do you want? I'm in a meeting."),
    ("voicemail", 4.0, "Hey, this is Mark. You know what to do. Wait for the beep."),
    (
        "voicemail",
        6.0,
        "You've reached the Johnson family. We're out right now. Leave us a note and have a great day.",
    ),
    (
        "voicemail",
        5.0,
        "The Google subscriber you have called is not available. Please leave a message after the tone.",
    ),
    ("voicemail", 4.0, "The mailbox is full and cannot accept any messages at this time. Goodbye."),
    ("voicemail", 4.5, "Hi, it's Linda. I'm either on the other line or away from my phone. Text me."),
    ("voicemail", 5.5, "Please leave your message for 6 1 7 5 5 5 0 1 9 9."),
    ("voicemail", 5.0, "I'm not able to answer. I will get back to you as soon as I can."),
    ("voicemail", 6.5, "The wireless customer you are calling is not available. Please try again later."),
    ("voicemail", 5.0, "Record your message at the tone. For delivery options, press pound."),
    ("screener", 5.0, "Hello. Please say who you are and why you are calling, and I will connect you."),
    ("screener", 4.0, "This number uses a call screener. Who is calling, please?"),
    ("screener", 5.0, "After the tone, say your name and then press pound, and we will try to connect you."),
    ("screener", 4.5, "Can I get your name and the reason for your call?"),
    ("menu", 6.0, "Thanks for calling City Clinic. If this is an emergency, hang up and dial 911."),
    ("menu", 5.0, "For English, press one. Para español, oprima el dos."),
    ("menu", 5.0, "Please choose from the following options."),
    ("menu", 6.0, "You have reached Northern Gas. To report a leak, press 1 now."),
    ("menu", 5.0, "In a few words, tell me what you're calling about. For example, say billing."),
    ("menu", 4.0, "Please enter your 10 digit phone number followed by the pound key."),
    ("person", 0.7, "Hello, Tom speaking."),
    ("person", 0.4, "Yo."),
    ("person", 1.3, "Good evening, the Harbour Hotel."),
    ("person", 1.8, "Police department, non emergency line, how can I help?"),
    ("person", 1.5, "Hi Sarah, I was just about to call you."),
    ("person", 2.0, "Hello? Sorry, who are you looking for?"),
    ("person", 1.4, "He's out at the moment, can I take a message?"),
    ("person", 1.9, "She's not in today. Shall I ask her to call you?"),
    ("person", 1.2, "Just a second, please."),
    ("person", 1.6, "Is this about the car? It's already sold."),
    ("person", 1.1, "Grandma's asleep, who's this?"),
    ("person", 1.0, "Yes, this is he."),
    ("person", 2.4, "Thank you for calling Rose Dental, this is Kim, what can I do for you?"),
    ("person", 1.5, "I'm not interested, please stop calling."),
    ("person", 1.3, "Dad, it's for you. Hello?"),
    ("person", 2.1, "Billing department, Martin here, could I have your account number?"),
    ("voicemail", 5.0, "Hi there. Sorry I can't take your call. Leave your details and I'll ring you back."),
    ("voicemail", 3.5, "This is Dan's phone. Do your thing after the beep."),
    ("voicemail", 6.0, "The number you have dialled is switched off. Please try again later."),
    (
        "voicemail",
        6.0,
        "We're sorry, your call cannot be completed at this time. Please hang up and try again.",
    ),
    ("voicemail", 4.0, "Hey, you missed me. Leave a message, or better, send a text."),
    ("voicemail", 5.5, "The person at extension 2 1 4 is on the phone. Record your message now."),
    ("voicemail", 6.5, "Thanks for calling the Green family. Nobody is home. Talk to the machine."),
    ("voicemail", 5.0, "I'm on vacation until Monday. In urgent cases please e-mail my colleague."),
    (
        "voicemail",
        5.0,
        "You're through to the voicemail of Doctor Evans. Please speak clearly after the tone.",
    ),
    ("voicemail", 4.5, "The subscriber's mailbox has not been set up yet. Goodbye."),
    ("voicemail", 6.0, "Our office is closed for the holidays. Leave a message and we'll be in touch."),
    ("voicemail", 4.0, "Hello? Hello? Just kidding, I'm not here. Leave a message."),
    ("screener", 4.5, "Hi. The person you're calling wants to know who this is. Please say your name."),
    ("screener", 5.0, "To reach this person, please state who is calling and what it is about."),
    ("screener", 4.0, "Hello, this is the assistant of Mister Park. May I ask what this call is regarding?"),
    ("screener", 5.0, "This call is being screened. Please tell me your name and why you are calling."),
    ("screener", 5.5, "Before you are put through, please record your name after the tone and press hash."),
    ("screener", 4.0, "Please stay on the line while I check if they can talk. What is your name?"),
    (
        "screener",
        4.5,
        "The Google assistant is answering for this person. Go ahead and say why you're calling.",
    ),
    ("menu", 5.0, "Welcome to Metro Bank. For your balance, say balance. For cards, say cards."),
    ("menu", 5.0, "If you are calling about an existing order, press one, otherwise press two."),
    ("menu", 4.0, "Please say or key in your date of birth."),
    ("menu", 5.0, "You have called Lakeside School. For attendance dial one. For the office dial zero."),
    ("menu", 5.5, "All of our agents are busy. Please hold and your call will be answered in order."),
    ("menu", 4.5, "How can I help you today? You can say book a flight or check a reservation."),
    ("menu", 5.0, "Your call is important to us. You are number four in the queue."),
    ("menu", 5.0, "For security, enter the last four digits of your card, then the hash key."),
    ("menu", 4.0, "To repeat these options, press star."),
    ("menu", 4.5, "Calls are recorded for training purposes."),
)


def _read(path: Path) -> Iterator[Row]:
    for line in path.read_text().splitlines()[1:]:
        kind, seconds, words = line.split("\t")
        yield cast("AnsweredBy", kind), float(seconds), words


LOOKED_AT = tuple(_read(Path(__file__).with_name("greetings_looked_at.tsv")))
LATER = tuple(_read(Path(__file__).with_name("greetings_later.tsv")))
DRAWN = tuple(_read(Path(__file__).with_name("greetings_drawn.tsv")))
UNSEEN = tuple(_read(Path(__file__).with_name("greetings_unseen.tsv")))
LAST = tuple(_read(Path(__file__).with_name("greetings_last.tsv")))
HEARD = tuple(_read(Path(__file__).with_name("greetings_heard.tsv")))
MEASURED = tuple(_read(Path(__file__).with_name("greetings_measured.tsv")))
RESERVED = tuple(_read(Path(__file__).with_name("greetings_reserved.tsv")))
BY_VOICE = tuple(_read(Path(__file__).with_name("greetings_voice.tsv")))
FRESH = tuple(_read(Path(__file__).with_name("greetings_fresh.tsv")))

HELD_BACK: tuple[Row, ...] = (
    ("person", 0.9, "Hello, Wilson residence."),
    ("person", 0.5, "What?"),
    ("person", 1.7, "Morning, garage, Steve speaking."),
    ("person", 3.2, "Good afternoon, thanks for calling Blue Sky Travel, my name is Olivia, how can I help?"),
    ("person", 2.6, "Hi, you're speaking with Nina at the front desk."),
    ("person", 1.4, "Hello? I can't hear you very well."),
    ("person", 1.5, "He just left, do you want his mobile number?"),
    ("person", 1.8, "I'm busy right now, can I call you back in ten minutes?"),
    ("person", 1.2, "Oh hi, how are you doing?"),
    ("person", 1.0, "Yes, this is Maria."),
    ("person", 2.3, "Sorry, wrong number, there is no Peter here."),
    ("person", 1.6, "Hold on, let me get a pen."),
    ("person", 1.3, "Hello, who do you want to talk to?"),
    ("person", 2.0, "If this is a sales call, I'm hanging up."),
    (
        "voicemail",
        5.0,
        "Hello, this is Kate. I can't get to the phone, so please leave your name and number.",
    ),
    ("voicemail", 5.5, "Welcome to the voice messaging service of 5 5 5 2 1 0 0."),
    ("voicemail", 3.0, "It's Joe. Speak after the beep."),
    ("voicemail", 6.0, "Your party is not answering. To leave a callback number, press five."),
    ("voicemail", 5.0, "Hi, Rob here. Sorry I missed you. Send me a text and I'll reply when I can."),
    ("voicemail", 6.0, "The phone you are calling is turned off or outside the coverage area."),
    (
        "voicemail",
        7.5,
        "You've called the dental practice outside opening hours. We open again on Monday at eight.",
    ),
    ("voicemail", 5.0, "I'm in class until three. I'll check my messages after that."),
    ("voicemail", 4.6, "Please speak after the signal. Your message will be recorded."),
    ("voicemail", 5.0, "Nobody can take your call at the moment. Please try again or leave word."),
    ("screener", 5.0, "Hi, I'm the virtual assistant for Anna. Who may I say is calling?"),
    ("screener", 5.0, "Calls to this number are screened. Tell us your name and the reason you are calling."),
    ("screener", 5.5, "Before I ring them, please tell me your name."),
    ("screener", 4.5, "Thanks. What's your call about? I'll see if she can pick up."),
    ("screener", 5.0, "If you're a real person, say your name after the beep and you will be connected."),
    ("menu", 5.0, "Hello and welcome to Swift Parcels. To track a parcel, press one."),
    ("menu", 5.0, "Please have your policy number ready. Say yes when you have it."),
    ("menu", 5.0, "You are being transferred to the next free advisor. Please wait."),
    ("menu", 6.0, "Thank you for holding. Did you know that you can also book on our website?"),
    ("menu", 5.0, "Please tell us in one sentence what you need help with."),
    ("menu", 5.0, "For directions, press the number sign. For hours, press two."),
    ("menu", 4.0, "Which department would you like? Sales, service or parts?"),
    ("menu", 5.0, "Enter your membership number, or hold the line if you do not have one."),
    ("menu", 5.0, "To speak to an operator, stay on the line."),
    ("menu", 4.5, "Did I get that right? Say yes or no."),
    ("menu", 5.0, "The current waiting time is eleven minutes."),
)
