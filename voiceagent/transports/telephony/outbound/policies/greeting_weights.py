"""Weights of `greeting_odds`, in nats, written by `tests/bench/greeting_odds.py`: do not edit."""

from __future__ import annotations

BIAS = -2.5
TABLE = """
-1.25 ends?
-1.0 f6_c452 p42_> phrase:another
-0.75 <_y2 =hello =speaking =yeah c5_y g3 h4 i3_> l s1252 t_l y_>
-0.5 <_m <_t42 =already =back =car =come =don't =evening =good =he's =here =i =i've =in =law =let =many
=mark =me =meeting =morning =mr =okay =out =right =second =she's =was =well =yes a463 a6_y a__c4 a_m352 b4
c4_> c5_i c6 d53 d53__t e1552 f6_y h1_t h4_> h6 h6_i5 h__i h_m5 i i1_b5 i32_n3 i5__i5 i5__t i_w2 l3 l3_m
m6552 m__i2 m_n5 n3_i5 n5_i2 o2 o3 phrase:question r5 r53 r552 s2 s253 s6 t52 t__t t_c4 t_c6 w6 w_a6 y__c452
y__m
-0.25 <_a <_c5 <_d3 <_d53 <_f653 <_g <_g3 <_h <_h4 <_h52 <_i <_i4 <_l2 <_l3 <_m5 <_n <_n3 <_o <_o2 <_o5 <_o6
<_r23 <_s2 <_s6 <_t4 <_t5 <_t62 <_y1 =account =afternoon =ah =anna =anybody =at =bad =bank =below =buddy
=central =could =dad =daughter =dave =dear =delivery =department =desk =didn't =direct =do =down =early
=email =emergency =fear =fire =from =front =garage =garden =gave =go =god =going =got =green =had =help =hi
=him =his =hold =hot =husband =i'm =interested =into =isn't =kids =late =leaf =library =like =listening
=little =live =lord =low =man =mary =middle =minute =miss =molly =mouth =mrs =nathan =neck =need =off
=offices =oh =olivia =on =order =patricia =pen =people =put =real =reception =restaurant =robinson =room
=rose =run =running =saw =she =shower =smith =sorry =speaker =station =stop =street =table =take =talking
=technical =that =the =there =there's =think =thought =ticket =till =time =told =tom =tony's =train =tuesday
=up =walking =want =warehouse =we'll =what's =where =wrong =yep =yet a a1365 a13_t a2235__i a2235_m a3 a352
a4 a4_r23 a513 a5352_> a53__b a53__p42 a53_o5 a53_p62 a53_t5 a5_> a5__i5 a5__t4252 a5_a a5_e54 a5_h6 a5_i
a6_> a6__a53 a6__n a6_o3 a__a53 a__i5 a__t5 a_m23 a_m53 a_m553 a_p5 a_s253 a_t14 b2 b25 b25_> b2_i5 b2_l36
b3 b5 b53 b5__t b652 b_b2 b_t c1 c3 c43__c4 c43_m c43_y c452_p42 c4__l36 c4__t56 c4_b2 c4_y c5 c5364 c53__a
c53_c5 c5__c4 c5__d c5__t2 c5__w3 c5__y6 c5_i3 c5_s c5_t d1 d1635 d2 d236 d3 d353 d353__t d3_y d416 d53_k5
d6 d623 d623_y6 d__n3 d__w53 d_f6 d_y e54 e5625_r5 e6 e64 f1_m532 f623 f653 f6__m f6__t g g1 g1__a g1_m g352
g3__p5 g3_a1365 g3_e1552 g3_h5 g3_m6552 g52 g52_o5 g62 g635 g65 g6541 g65_l1 g__a53 g_a3 g_o5 h1__a253
h1__m1 h1__w652 h1_i3 h1_o5 h1_y h2 h2153 h2_i5 h3 h3_t h41 h43_o5 h4_i h4_t h4_t52 h4_t6 h5 h52_o5 h55 h5_>
h6__n h__f6 h__g3 h__i5 h__t h__y h_b3 h_d3 h_h h_i1 h_m h_p42 h_t52 h_y6 i1__a i1_g3 i253 i2_> i2__a i2__h
i2__p42 i2__w i2__w3 i2__y i2_a5 i2_c423 i2_i3 i2_r2 i2_t2 i2_t3 i32__i5 i32_m i32_y i3_i2 i3_w3 i4__h5
i4__y6 i4_g3 i53 i5362 i5__c5 i5__c6 i5__h6 i5__l3 i5__m34 i5__m352 i5__s6 i5_a3 i5_a5 i5_c5 i5_f6 i5_h6
i5_i5 i5_j23 i5_l2355 i5_l5 i5_t5 i5_y6 i__f6 i__h6 i__i2 i__k5 i__o5 i__s i__t i__y i__y6 i_d i_d623 i_j23
i_s i_t2 i_t4252 i_t43 i_t52 i_w53 j j2 j23__t j23_a k32 k5_> l1 l12 l166 l1__a53 l23 l2355 l2355_> l252
l2_t l34 l36 l3_> l3__p3 l52_t5 l5__c5 l5__i l62 l63 l_i l_t m2 m2_> m34 m34_o1 m352 m5 m53 m5_> m5__c5 m635
m__a136 m__d623 m__h41 m__i5 m__m m__y6 m_a25 m_h2153 m_i5 m_o636 m_p3 n3 n35 n3_> n3__i5 n3__p42 n3_h1
n3_i5362 n3_t n5_> n__y n_c5 n_s n_t52 o o122 o12_> o1_i3 o1_y6 o2_> o2_i o3_o1 o41 o5__m o5__t65 o5_a o5_l3
o5_m53 o5_s126 o5_s253 o636 p14 p36 p362 p42__a53 p5__t p62__h2 p62_t r1525 r23 r2365 r23_> r23_t4 r4_p625
r52_> s1252_> s1252__m s1252_w3 s126 s126_> s13 s253_> s2_i5 s2_n3 s31 s31_c452 s335 s35 s52 s53 s536
s53__a5 s53_m s6_> s_> s__c452 s_i2 s_t3 s_w t14 t14_> t23 t2524 t2524_s163 t2_> t2__m22 t2__o1 t2__r2 t2_a
t2_i2 t2_m t2_n516 t3_a25 t4252 t4252_t t43 t43__p14 t4_> t4_y t5 t52_> t52__c452 t52_f6 t52_w t5_i5 t62_t
t65 t65_> t6_> t6__a25 t__a13 t__a3 t__i t__i32 t__o5 t__r5 t__t52 t_b4 t_g3 t_l1 t_l23 t_l63 t_m1 t_m34
t_r3 t_s6 t_t42 t_t65 t_w62 t_w652 u1 u1__t u1_o6 v6_w4 w2 w32 w32__o5 w32_g52 w3__i w3_c5 w4252 w4__y6 w53
w53_> w5__a6 w652 w652_n516 w6__y w6_a6 w__n3 w__o3 w__y w_a463 w_a5 w_d3 w_d53 w_y y y2 y2__a6 y2__i2 y2_w
y3 y3_> y6__i5 y6__t y6__w3 y6_s1252 y6_t23 y6_t62 y__f6 y__i3 y__t5 y_c43 y_f6 y_g3 y_l2 y_o5 y_s y_s12 y_t
y_t2 y_w53
0.25 # #_# #_> <_b3 <_c2 <_c42 <_c43 <_d <_f6 <_h1 <_j23 <_n13 <_p6 <_p62 <_s <_t52 <_w <_w2 <_w32 =1
=action =after =again =agent =am =and =announce =answer =answering =are =assistant =available =because
=being =booking =breath =brian =callers =calls =calm =cannot =card =carefully =change =color =connect
=connecting =continue =continued =current =currently =customer =dos =due =eleven =else =end =english =espa
=estimated =expect =family =following =full =get =goodbye =hang =he =how =important =insurance =it's
=kidding =knocked =lead =let's =lost =machine =mailbox =main =maize =maria =marriage =may =meal =meat =menu
=message =might =missed =monitored =more =my =never =new =nick =nine =nobody =not =ol =open =oprima =option
=options =outage =para =part =patience =person =phone =plea =please =questions =reach =reached =read =really
=receptionist =record =recording =reference =regarding =remember =return =sam =say =seven =short =should
=shut =some =speak =start =stay =tell =ten =text =than =they =three =through =two =type =unknown =using
=valid =virtual =voice =voicemail =waiting =whether =while =why =with =write =y'all =you've =yourself =zero
a136 a136_t a13_> a1414 a1414_> a2 a2235 a2235_o1 a235 a25 a253_> a2__c5 a3__m553 a4__a6 a4_d a5 a526 a5265
a5265_f6 a526_> a53 a5352_e42 a53__d a53_a a53_w a552 a5_e5625 a5_i5 a5_o32 a5_t5 a6 a6__c452 a6__i5 a6__o5
a6__t a6__w a6__y a6_r4 a__l1 a__m22 a__n516 a_i a_n a_s63 a_v43 b1 b16_w b1_> b22 b252 b2_a3 b3_> b42 b623
b63 b63_o5 b_i5 c2 c23 c2356 c2356_n516 c252 c42 c42_> c42_f6 c43 c43_i c452_> c452__i5265 c452_a13 c452_a53
c462 c4__b c4__t c4_a25 c4_t c5235 c5235_y c523_y c5353 c53_b c5__h41 c5__m c5__t4 c5_h41 c614 c63 c653
c6534 c6534_c423 d4 d53__a5 d_t d_w3 e21 e2123 e21_o4 e2353 e2353__t5 e415 e42 e42_> e4553 e5242__o5 e53
e536 f3 f452 f53_o3 f54 f6 f65 f6__p352 f6__w f6__w32 f6_t f6_t2 g31 g31_> g3__y6 g3_a g63 h1__p42 h1_c523
h2_c523 h43 h43_w4 h4__i2 h4__t52 h4_a53 h4_b16 h4_i5 h4_t2 h52 h52_u1 h53_> h56 h63 h6__a25 h6_t2 h__h6
h__p5 h__r23 h_t2 h_y h_y1 h_y2 i1__c5 i1__m i1_t i2__a13 i2__a5 i2__c4 i2__e5625 i2__i i2__m532 i2__r2635
i2__t5 i2_c452 i2_t i2_y6 i32 i3__a5 i3_a13 i4__y i5 i5163 i5265 i5__a2235 i5__a3 i5__a4 i5__f6 i5__t3
i5_e5242 i5_n3 i__w3 i_a5 i_c53 i_d353 i_g3 i_t4 i_w4 j23__m j23_k352 k352 k352__n3 k352_i5 k52 k523 k5_t
l14 l152 l1__m22 l1_a l1_m l235_t l23_m l32 l32_g3 l3_y l52 len3 m m22 m25 m2_m4 m4 m412 m5363 m5363_>
m553_> m5__c523 m62_> m65 m6_t5 m_> m__h1 m__l36 m__m4 m__o6 m__s m_a2235 m_b m_i m_m2 m_p5 m_s m_u1 m_v2
m_y n13 n13_i2 n16 n3__v43 n3_a n3_h5 n3_h6 n516_i2 n5__c515 n5__t n5_a53 n_c2356 n_o5 o1 o12_i2 o135 o1352
o15 o165 o1_> o1__p5 o1_a o1_t o32 o4 o5 o5_> o5_i5 o5_t p2 p2__t p3 p3__t62 p42__a p42__m p42__w4 p42__y6
p42__y6241 p42_c2 p42_c4 p42_h1 p42_l235 p42_s p5 p5_> p6 p62 p625 p63 p6__o4 p6_e21 q2352 q_> r1652 r23_n
r23_t r263 r3 r365 r365_t r3_> r5516 s s12 s1261 s15 s3__t s3_o5 s41 s423 s43_i s5352 s63_m22 s6__d353
s6__m23 s__c4 s__n5 s_d53 t1 t23_m t2__c4 t2__h2 t2__t t2_a13 t2_a25 t3__i2 t3__n3 t4 t4__w t4_m t56_> t63_>
t6_a25 t6_m t__a5 t__a53 t__i1 t__m22 t__m5 t__o1 t__t3 t__t42 t__u1 t__w3 t__w352 t__y6 t_a t_c535 t_c653
t_d5 t_f452 t_g t_h5 t_h6 t_l5 t_m553 t_p2 t_p625 t_r2 t_r365 t_s1261 t_t2 t_t5 t_v634 u252 u5255 u534__t63
v2 v254 v43 v634 w w32__n5 w32_y6 w352 w36 w3_> w3__d w3__i2 w3__t w3__y6 w3_a w3_m w3_t2 w3_y w43__l2 w43_y
w4__t w4_i w4_y w5 w5_i w62_> w6__t w6_o3 w__c452 w_c5 w_i2 w_i5 w_m w_s4 w_s43 y1 y1_r23 y2__n y2__y y2_l1
y2_o6 y6241 y6__a3 y6__a53 y6__h2 y6__n y6__r1652 y6_c2356 y6_c452 y6_p352 y__a13 y__c5 y__h4352 y__k352
y__n516 y__t4 y__w y__w3 y__y6 y_c452 y_c53 y_d y_m y_t62 z6 z6_>
0.5 <_a4 <_b16 <_d4 <_i3 <_i32 <_w5 =an =around =as =beep =before =called =can =changed =choose =dial =has
=high =holding =if =leave =line =mail =number =of =one =online =only =our =pay =press =to =urgent =went =who
=whom =will a13_a5 a25_> a53_w3 a653 b b16 b16_i c43_> c45 c523_> c5_t42 d_> e5242 e5242_> f4 f6_h4352 h1_b5
h1_y6 h4352 h__n3 h_i h_i5 i1_y i5_c452 i__i5 k5 l2__m l5_> len13 m23 m532_> n2 n516 n6 n_> n__i5 o54 o545
o6_n p p23 p42 r2635 r4_> s12_> s3 t5_i2 t6 t__e5242 t_m5 t_o12 t_t u6253 w3_i2 w5__i y6 y6_n5 y_a6 y_c5
y_i32 y_i5 y_k5
0.75 <_t2 <_y <_y6 =for =know =or =try =yo =your b_> c523 i5__y len11 len16 len7 len9 sentences3
1.0 <_p42 <_t len5 phrase:machine phrase:screener
1.25 o6 phrase:menu sentences2
2.25 phrase:voicemail
"""
USUAL_WORDS = """
1 2 3 4 5 9 a about accept account after afternoon again agent ahead all am an and anna answer answered
answering any anything are as ask asleep assistant at automated available away back bad bank be been beep
before being ben billing book booking brian busy but by bye call called callers calling calls can can't
cannot car card changed check choose city clinic closed come company connect connected continue could
currently customer dad dave day delivery department desk details dial dialed dialled did didn't do doctor
does don't due eight else email emergency english enter espa estimated evening example extension family find
first five for four free from front full garage garden get give go going good goodbye google got green hang
has hash have he he's hear hello help her here hey hi him his hold home hotel hour hours how human i i'll
i'm i've if important in information instead insurance is isn't it it's ivan just kate key keypad know later
leave let library like line listen longer look lost lunch machine mailbox main may me menu message messages
messaging minute minutes missed mister moment monday monitored morning my name need new next nick nine no
nobody northern not now number of off office oh okay ol olivia on one open operator oprima options or order
other our out outside owner para party person pharmacy phone pick please plumbing pound press priya put
queue reach reached ready real reason receptionist record recorded recording reference report resources
return right ring robot sales say school screened screening second see send sent service set seven shall she
she's short should shut signal six so someone something soon sorry speak speaking star state stay subscriber
summit support take talk tell text than thank thanks that that's the them then there these they think this
three through time to today tom tomorrow tone touch transferred travel try trying two unknown until up
urgent us use uses using valid virtual voice voicemail wait waiting want warehouse was we we'll we're
website week welcome well what what's when where whether which while who who's why wife will with work would
wrong yeah yes yet yo you you're you've your zero
"""
