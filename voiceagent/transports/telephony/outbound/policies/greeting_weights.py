"""Weights of `greeting_odds`, in nats, written by `tests/bench/greeting_odds.py`: do not edit."""

from __future__ import annotations

BIAS = -2.75
TABLE = """
-1.25 ends? s1252 t_l
-1.0 c5_y f6_c452 h4 i1_b5 i3_> l l3 l3_m o3 p42_>
-0.75 <_y2 a463 a_m352 b4 c6 d53 f6_y g3 h1_t h4_> h6 h6_i5 i i5_a3 m6552 m_n5 o2 r552 s2 t2_m y_>
-0.5 <_a <_c5 <_d53 <_g3 <_l3 <_m <_n <_o <_r23 <_t42 a1365 a13_t a3 a4_r23 a6_y a_m553 a_p5 b2_i5 b_b2 c1
c43_y c4_> c5_i d1635 d3 d353 d3_y d6 d_y e1552 g1 g3_a1365 g3_h5 g52 g6541 g_o5 h1_i3 h3 h3_t h_m5 i1_g3
i253 i2_t2 i32_n3 i5362 i5_a5 i5_i5 i_d i_t2 i_t52 i_w2 i_w53 j23_a l23 l34 l63 l_i m352 m5 m53 m_a25 m_p3
n3_> n3_i5362 n5_i2 o2_> o41 p36 r5 r53 s1252_> s253 s31 s31_c452 s335 s35 s52 s6 t2_i2 t43 t52 t52_> t62_t
t65 t_c4 t_c6 t_l63 t_t42 w2 w32 w4252 w53 w6 w652 w_a6 w_d53 y2 y6_s1252 y_f6 y_t
-0.25 <_a2532 <_d3 <_f653 <_g <_g1 <_h <_h4 <_h43 <_h52 <_i <_i4 <_i5 <_l2 <_m5 <_m6552 <_n3 <_o2 <_o5 <_s2
<_s6 <_t4 <_t5 a a1535_> a2235_m a2532 a253_n516 a25_a136 a352 a3_> a3_w62 a4 a4_t a5352_> a53_i a53_o5
a53_t5 a53_y a5_> a5_a a5_h6 a5_i a6_> a6_o3 a_m23 a_m53 a_s253 a_t14 b2 b25 b25_> b2_a53 b2_l36 b3 b5 b63_>
b64 b652 b_t c32 c43_m c452_m c4_b2 c5 c52 c5364 c5_i3 c5_o3 c5_s c5_t c6_> d1 d2 d236 d416 d53_k5 d53_n3
d56 d5_t d6152 d623 d623_y6 d6_> d_f6 e5625_l5 e5625_r5 e6 e64 f1 f1_m532 f623 f653 f6_> f6_m g g1_m g352
g3_e1552 g3_m6552 g435 g52_o5 g62 g62_> g635 g65 g65_l1 g_a3 h h1_a h1_o5 h2 h2134 h2153 h2_i5 h41 h43_o5
h4_i h4_t h4_t52 h4_t6 h4_y6 h514 h514_> h52_o5 h55 h6_m h_b3 h_d3 h_h h_i1 h_m h_p42 h_t h_t52 h_y6 i2_>
i2_a13 i2_a5 i2_i3 i2_i5 i2_r2 i2_t3 i32_m i3_i2 i3_w3 i4_g3 i53 i5_a i5_b2 i5_c5 i5_d6152 i5_h6 i5_j23
i5_l2355 i5_t i5_t5 i_c4 i_d623 i_j23 i_t43 j j2 j23_g52 k32 k5_> k5_w5 l12 l13 l166 l1_> l1_i5 l2355
l2355_> l252 l2_t l36 l36_> l3_> l52_t5 l62 l_> l_t m2 m26 m2_> m34 m34_o1 m532 m53_i5 m5_> m6 m62 m623 m635
m6552_> m_a m_h2153 m_i5 m_l36 m_o636 n2_> n35 n3_h1 n3_i5 n3_t n516_f6 n_c5 n_s n_t52 o o122 o12_> o1_d56
o1_i3 o1_y6 o2_i o323 o323_> o36_l5 o3_o1 o43 o5_m53 o5_s126 o5_s253 o5_t o636 o_h4 p14 p362 p4 p42_h43
p5_t4 p6252 p62_t r1525 r2352 r2365 r23_> r4 r4_p625 s1252_t s1252_w3 s126 s126_> s13 s253_> s2_> s2_i5
s2_n3 s53 s536 s53_a53 s6_> s6_w s_> s_i2 s_t3 s_w t14 t23 t23_> t2524 t2524_s163 t2_> t2_a t2_n516 t2_t t3
t32_m t3_a25 t4252 t4_y t5 t52_f6 t52_w t5_> t5_m532 t5_p42 t63 t6_> t6_i t_b2 t_b4 t_c46 t_g3 t_g635 t_l23
t_m1 t_m34 t_r3 t_s4 t_s6 t_w62 t_w652 u1 u1_> u1_o6 v6 v6_w4 w2_c452 w2_j23 w32_g52 w3_c5 w3_l3 w4_> w5_y
w652_n516 w6_a6 w_a463 w_a5 w_y y1_> y1_g3 y2_t2 y2_w y3 y6_> y6_a253 y6_t23 y6_t4 y6_t62 y_c43 y_g3 y_h6
y_i y_l2 y_n3 y_o5 y_s y_s12 y_t2 y_w43 y_w53
0.25 #_# #_> <_a6 <_b3 <_c2 <_c42 <_c43 <_d <_h1 <_i1 <_j23 <_t52 <_w2 <_w3 <_w32 a1414_> a1414_t a2235_o1
a2235_w a235 a252 a253_> a2_s5 a2_w3 a3533 a4_c42 a4_d a5265_f6 a5265_s612 a526_> a53 a5352_e42 a53_a a53_c4
a53_c515 a53_s3 a53_t a53_w a53_w425 a5_a2235 a5_a5265 a5_i5 a5_o1636 a5_o32 a5_t5 a6_c423 a6_r4 a_i a_m22
a_n a_n516 a_s63 a_t23 b16_w b22_w6 b252 b2_a3 b2_o5 b2_w5 b3_> b52 b52_t6521 b623 b63 b63_o5 b65 b_m5363
b_r23 b_r2633 c23 c2356 c252 c423_t3 c42_> c42_a6 c42_f6 c43 c452_a13 c452_a53 c462 c4_c53 c4_h2 c4_t c515
c515_> c5235 c5235_y c523_y c5353 c535_> c535_i5 c53_a526 c53_b c5_> c5_h41 c614 c63 c653 c6534 c6534_c423
d43 d54 d6235 e21 e2123 e21_o4 e2353 e415 e42 e42_> e4553 e536_y6 e54_> f3 f43_y f452 f523 f523_h52 f53_o3
f54 f6_a5 f6_t2 f6_y6 f_w632 g31 g31_> g3_s3633 g3_t3 g52_t g63 g_b2 h1_c523 h1_f523 h1_r23 h41_> h4_b16
h4_y h4_y1 h52 h52_u1 h53_> h56 h63 h6_t2 h_i32 h_t2 h_y2 i1_i32 i1_t2 i2_a i2_m6 i2_n i2_n3 i32_i5163 i4
i4_b i4_c4 i4_r52 i5163 i5165 i5233 i5233_> i5265 i5_d5 i5_e5242 i5_p6114 i5_u2 i_c5 i_c53 i_d353 i_k5
i_s1252 i_t4 i_w4 k k13 k52 k523 k5_t k5_w3 l1 l14 l152 l1_y6 l235 l235_t l23_m l32_g3 l32_t6 l3_y l52
l526_i5 m m222 m23_y m252 m2_m4 m412_i2 m452 m5363_> m553_> m5_h2 m5_p62 m65 m_a2235 m_b m_i m_m2 m_m22 m_s
m_v2 m_y n n13 n16 n3_a n3_a1414 n516_i2 n_c2356 o12_i2 o135 o1636 o165 o1_> o1_a o1_t o1_t2 o32 o4 o5 o5_>
o5_i2 o5_i5 o5_m553 o6_m5 o6_s5352 p2 p352 p42_c2 p42_c4 p42_h1 p42_l1 p42_l235 p42_s p42_t4 p42_t6 p5 p5_>
p6 p6114 p625 p62_n5 p62_o5 p62_s36 p62_t6 p6_e21 q2352 q_> r13 r1652 r2135 r23_n r23_t r25 r25_f6 r2633
r2633_f6 r263_y6 r3 r365_y6 r3_> r52_y s s12 s1261 s15 s163_o6 s363 s3633 s363_s1252 s365 s3_o5 s423 s43_i
s5352 s5352_e42 s53_a5 s53_t s5_a2 s612 s612_> s63_m22 s6_i s6_t3 s_b452 s_d53 s_y6 t1 t2_a13 t2_a25 t2_c4
t2_c42 t2_p5 t3_i2 t42_> t623 t63_> t6521 t6521_t t6_m t_a t_a3533 t_a5 t_c5 t_c535 t_c653 t_d t_d5 t_e2352
t_f452 t_g t_h5 t_k5 t_m25 t_m4 t_m412 t_p2 t_p625 t_r13 t_r163 t_r2 t_r25 t_s t_s1261 t_v254 t_v634 u2 u252
u2_> u5255 u534 u534_t v254_b2 v634 w w352 w36 w3_> w3_a w3_f6 w4 w425_t w43_y w4_b w5_i w5_i5 w62_> w632
w63_t w6_o3 w_c5 w_c53 w_h1 w_i5 w_s4 w_s43 y1_c43 y2_l1 y6241 y6_c4 y6_c452 y6_c63 y6_m22 y6_p352 y6_p42
y6_p63 y_a2 y_c452 y_c53 y_d y_h1 y_j23 y_m y_r2 y_r23 y_t3 z6 z6_>
0.5 # <_a4 <_b16 <_f6 <_i32 <_n13 <_p6 <_p62 <_w a136_t a13_> a13_a5 a1414 a2 a2235 a25 a25_> a5 a5265
a53_w3 a552 a5_e5625 a6 a_r2635 b1 b16 b1_> b22 b42 b_> b_i5 c2 c2356_n516 c42 c423 c43_> c45 c452_> c523_>
d_t e5242_> e536 f6_h4352 f6_t g3_b2 h1_b5 h1_y6 h2_c523 h4352 h4_a53 h4_t2 h_y h_y1 i1_t i2_c452 i2_t i2_y6
i32 i5_n3 i_a5 i_g3 k352 k352_i5 l1_m l32 len3 len9 m22_> m412 m532_> m5363 m62_> m_p5 n13_i2 n3_h6 n5_a53
n6 n_o5 o1 o1352 o545 o6_n p63 r263 r2635_> r365 r4_> s12_> t23_m t4_m t56_> t5_i2 t6 t6_a25 t_h6 t_m5 t_o12
t_t t_t2 t_t5 v2 v254 w32_y6 w3_i2 w3_y w4_y w5 w_m y2_o6 y6_c2356 y_a6 y_i32 y_i5 y_t62
0.75 <_d4 <_i3 <_t2 <_w5 <_y <_y6 a526 a653 b b16_i c5_t42 d4 d_> e5242 f4 f6 h4_i5 h_i h_i5 i1_y i5_c452
l1_a l5_> len13 len16 len7 m22 m23 m25 m4 n2 n516 n_> o54 p p23 p42 p62 s3 u6253 y1 y1_r23 y6_n5 y_c5 y_k5
1.0 <_p42 <_t c523 k5 len11 len5 r2635 sentences3 y6
1.5 o6 sentences2
"""
USUAL_WORDS = """
1 2 3 4 5 9 a about accept account after afternoon again agent ahead all am an and anna answer answered
answering any anything are as ask asleep assistant at automated available away back bad bank be been beep
before being ben billing book booking brian busy but by bye call called calling calls can can't cannot car
card changed check choose city clinic closed come company connect connected continue could currently
customer dad dave day delivery department desk dial dialed dialled did didn't do doctor does don't due eight
else email emergency english enter espa estimated evening example extension family five for four free from
front full garage get give go going good goodbye got green hang has hash have he he's hear hello help her
here hey hi him his hold home hotel hour hours how human i i'll i'm i've if important in information instead
insurance is isn't it it's ivan just kate key keypad know later leave let library like line listen longer
lost lunch machine mailbox main may me menu message messages messaging minute minutes missed mister moment
monday monitored morning my name need new next nick nine no nobody northern not now number of off office oh
okay ol olivia on one open operator oprima options or order other our out outside owner para person phone
pick please plumbing pound press priya put queue reach reached ready real reason receptionist record
recorded recording reference report resources return right ring sales say school screening second see send
sent service set seven she she's should shut six so someone something soon sorry speak speaking state stay
subscriber summit support take talk tell text than thank thanks that that's the then there these they think
this three through time to today tom tomorrow tone touch transferred travel try trying two until up urgent
us use using voice voicemail wait waiting want warehouse was we we'll we're welcome well what what's when
where whether which who who's why wife will with would wrong yeah yes yet yo you you're you've your zero
"""
