"""English greetings with which calls are answered: kind, length in seconds, words as a recognizer gives them.

KNOWN were used to write the policy. HELD_BACK were written before the policy ran on them, and it was not
changed for them afterwards.
"""

from __future__ import annotations

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
)

HELD_BACK: tuple[Row, ...] = (
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
)
