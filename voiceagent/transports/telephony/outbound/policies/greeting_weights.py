"""Weights of `greeting_odds`, in nats, written by `tests/bench/greeting_odds.py`: do not edit."""

from __future__ import annotations

MACHINE_BIAS = -1.5
MACHINE = """
-1.5 phrase:is-None
-1.25 ends?
-1.0 p42_> phrase:another
-0.75 <_y2 =hello =speaking c5_y f6_c452 h4 i3_> l phrase:question s1252 t_l
-0.5 <_m <_s2 <_t42 =come =don't =good =he's =here =i've =law =let =many =me =morning =okay =out =recorded
=right =second =she's =the =want =well =yeah =yes a13_t a6_y b4 c4_> c5_i c6 d3 d53 d53__t d6 f6_y g3 h1_t
h4_> h6 h6_i5 h_m5 i1_b5 i5__t l3 l3_m m5 m6552 m_n5 n3_i5 o2 o3 r2633 r552 s2 s253 s6 t2_i2 t52 w53 y_>
y__c452 y__i3 y__m
-0.25 <_a <_c5 <_d53 <_g <_g3 <_i1 <_i4 <_l2 <_l3 <_m2 <_m5 <_m6 <_n3 <_o <_o2 <_o5 <_o6 <_r2135 <_r23 <_t4
<_t5 <_u5 <_y1 =account =adams =afternoon =ah =ahead =already =anna =back =bad =bakery =bank =beacon =bell
=below =buddy =building =car =carla =clear =close =could =dave =dear =delivery =desk =direct =do =door =down
=driving =drop =early =evening =fear =fire =front =garage =gave =getting =glasses =go =going =got =green
=help =him =his =hold =home =hot =house =husband =i =i'm =in =interested =isn't =just =kids =late =light
=like =list =listening =little =live =lives =lord =low =man =mark =mary =matt =meeting =middle =minute =miss
=molly =mouth =mr =mrs =nathan =nearly =neck =need =noon =off =offices =oh =olivia =on =people =pharmacy
=pizza =put =raj =reception =restaurant =robinson =room =roommate =run =saw =she =shower =sorry =station
=stepped =still =stop =table =take =talking =tear =that =there =there's =think =thought =ticket =till =told
=tom =tuesday =um =up =was =watch =we'll =wendy =what's =where =won't =wrong =yet =you're a a1365 a13_i3
a1535_> a2313 a25__a a3 a352 a3_> a3__s335 a3_w62 a4 a463 a4_r23 a5352_> a53__b a53__p42 a53_o5 a53_t5
a5__i5 a5__t4252 a5_h6 a5_i a6__a53 a6_o3 a__a53 a__c4 a__i5 a__l5 a__w3 a_m352 a_m53 a_m553 a_s253 a_t14 b2
b2_i5 b3 b4352 b4__t b5 b53 b5__t b652 b_t c1 c3 c43__c4 c43_y c452_g6541 c4__l36 c4_b2 c4_i5 c4_y c5364
c53__a c53__t c53_c5 c5__c4 c5__d c5__t2 c5__w3 c5__y6 c5_i3 c5_s c5_t c64_> c6_i32 d1 d236 d2_> d353__t
d3_y d416 d416_> d53__a5352 d53_w6 d56 d61 d6152 d623 d623_y6 d6_> d_f6 d_y e1552 e5625_> e5625_r5 e6 e64
f53_m f623 f653 f6__b2 f6__g6541 f6__m g g1 g1__a g1_m g1_y g352 g3_a1365 g3_h5 g3_m6552 g422 g52 g52_>
g52_o5 g62 g65 g6541 g__a53 g_a3 g_o5 h1__a253 h1__m1 h1__w652 h1_i3 h1_o5 h1_y h2153 h2__c5 h2_i5 h3 h3_t
h43_o5 h4_i h4_t6 h5 h52_o5 h5_w h5_y3 h6_> h__f6 h__i h__i5 h__m4 h__t h__w4252 h__y h_b3 h_d3 h_t52 h_y6 i
i1__a i1__n3 i253 i2__a i2__f65 i2__h i2__m i2__w i2__w3 i2_a5 i2_i3 i2_r2 i2_t2 i32__t6 i32_m4 i32_n3 i32_y
i3__m i3_g52 i3_p42 i3_q2 i3_w3 i4__h5 i4__i1 i4__y6 i4_g3 i4_s i5362 i5__a i5__c6 i5__h6 i5__i5 i5__i5362
i5__l3 i5__m34 i5__s6 i5_a3 i5_a5 i5_c5 i5_d6152 i5_h6 i5_i5 i5_j23 i5_l2355 i5_l5 i5_t5 i5_w4252 i5_y6
i__f6 i__h6 i__s i__t i__y i__y6 i_d i_d623 i_j23 i_l3 i_t2 i_t23 i_t4252 i_t43 i_t52 i_w2 i_w53 j j1 j2 j23
j23__o3 j23__t j23_a j23_s k2 k32 l1 l12 l1_t l23 l2355 l2355_> l252 l252_> l2_t l34 l3_> l3__p3 l52_t5
l5__i l5_c5 l5_p42 l62 l63 l63_t l_> l__o1 l_i l_o122 l_t m22_w3 m23__f65 m2_> m34 m34_o1 m352 m53 m5__c5
m5_c53 m62 m__a136 m__d623 m__h41 m__i2 m__m m__o5 m__y6 m_a25 m_d3 m_h2153 m_m3 m_m6 m_o1 m_o636 m_p3 n3
n35 n3_> n3__i5 n3__p42 n3_h1 n3_i5362 n3_t n52 n5_> n5_i2 n64 n__y n_s n_t52 o o122 o122_o1 o12_> o12__y
o1__a53 o1_i3 o2_> o2_i o36__c5 o41 o5__i5 o5__p42 o5__t65 o5_a o5_o5 o5_s253 o6_d416 p14 p22 p2__o6 p34 p36
p42__a53 p42__c452 p42__t p42_s31 p625_> p62__h2 p62_t p652 q2_> r1525 r23 r2365 r23_> r23_t4 r4_p625 r5
r52_> r53 r552__t r5_t s1252_> s1252_w3 s12__a s12_u1 s13 s253_> s2__i5 s2_i5 s2_n3 s31 s313 s31_c452 s335
s335_> s34 s34_t6 s35 s52 s53 s6_> s_> s_t3 t14 t14_> t23 t23_n516 t23_y t2_> t2__o1 t2__r2 t2_a t2_i5 t2_l5
t2_m t4252 t4252_t t42_a136 t43 t43__p14 t52_> t52__c452 t52_f6 t52_t t52_w t62_t t65 t6_> t6__a25 t6_i5
t__a13 t__a25 t__h2 t__i t__i32 t__o5 t__p42 t__t t__t52 t_b4 t_c4 t_c6 t_d6 t_l1 t_l23 t_l63 t_m1 t_m34
t_m532 t_p5 t_p62 t_r23 t_r5 t_s335 t_s6 t_w652 t_y6 u1 u1__t u1_a u1_h u1_o6 u5 w2 w32 w32__o5 w32_g52
w352_f6 w3__i w3__l2 w3_c5 w4252__a w4__y6 w53_> w5__a6 w6 w652 w652_n516 w6__y w6_a6 w__n3 w__o3 w__t2
w_a463 w_a5 w_a6 w_d53 w_g1 y y1__t y2 y2__i5 y2_w y3 y3_> y6__i5 y6__t y6__w3 y6_a y6_f6 y6_o5 y6_s1252
y6_t23 y6_t62 y__f6 y__t y__t5 y__u1 y_f6 y_g3 y_l2 y_n3 y_s12 y_t2 y_w53
0.25 # #_# #_> <_a4 <_a6 <_b16 <_b3 <_d <_h1 <_j23 <_l1 <_n13 <_o54 <_p6 <_p62 <_s <_t1 <_t52 <_w <_w2 <_w3
<_w32 =1 =action =after =again =agent =am =an =and =announce =answer =answering =are =assistant =available
=beat =because =beep =being =bigger =booking =breast =breath =brian =briefly =bye =call =calls =calm =can
=cannot =card =carefully =change =choose =clean =color =connect =connecting =continue =continued =current
=currently =due =eleven =else =end =english =estimated =existing =expect =experiencing =family =following
=form =full =get =goodbye =group =he =heart =hey =hola =holding =hundred =important =installing =introduce
=it's =kidding =knocked =lead =leave =let's =line =lines =lost =machine =mail =main =maize =marcus =maria
=marriage =may =meal =meat =member =menu =message =might =missed =monitored =more =never =new =nick =nine
=nobody =not =of =open =oprima =option =options =outage =part =patience =person =plea =please =possible
=probably =questions =reach =reached =read =really =receive =record =recording =reference =regarding
=remember =repeat =return =sam =say =shoot =short =should =shut =speak =start =stay =tell =text =than =they
=three =two =type =using =usual =valid =virtual =voice =voicemail =what =whether =while =whom =why =works
=y'all =you've =yourself =yusuf =zero a136 a136_t a13__e2235 a13__o32 a13_a5 a1414 a2 a2235 a235 a25 a253_>
a25_> a2__c5 a3__m553 a3__t5 a4__a6 a4_d a4_l52 a5 a526 a5265 a5265_f6 a526_> a53 a5352_e42 a53__a6 a53__d
a53_a a53_w a53_w3 a53_w425 a552 a5_e2235 a5_e5625 a5_i5 a5_o32 a5_t5 a6 a6__c452 a6__i5 a6__o5 a6__t a6__w
a6__y a6_c5235 a6_r4 a__m22 a_i a_n a_s63 a_v43 b1 b16_w b1_> b22 b252 b2_a3 b3_> b42 b43 b614 b623 b63 b635
b63_o5 b_i5 c2 c23 c2356 c2356_n516 c252 c2__a c4 c42 c42_> c43_> c43__t c452_a53 c4__b c4__t c5235 c5235_y
c523_> c523_y c53 c5353 c53_b c53_t42 c5__h41 c5__m c5__o5 c5__t5 c5_p c5_s12 c5_t4 c5_t42 c614 c63 c653
c6534 c653__t5 c653_w352 d2__t d4 d4__f6 d53__a5 d_t d_w3 e2 e2123 e2165 e2235 e2353 e2353__t5 e415 e42
e42_> e4553 e5242_> e5242__o5 e53 e536 f3 f452 f53_o3 f54 f65 f6__p352 f6__p5 f6__w32 f6_h4352 f6_t f6_t2
g31 g31_> g3__y6 g3_a g61 g63 h1__p42 h1__t5 h1_a5 h1_c523 h2__o5 h2_c523 h41_y h4352 h43_> h43_w4 h4__i2
h4__o5 h4__t52 h4_a53 h4_b16 h4_i5 h4_t2 h52 h52_u1 h56 h63 h6__a25 h6__j23 h6_t2 h__h6 h__k5 h__n3 h__p5
h__r23 h__w53 h__w62 h_b1 h_i h_i32 h_t2 h_y h_y1 h_y2 i1__c5 i1__i5163 i1__m i1__u6253 i1_t i1_t2 i1_y
i2__a13 i2__a5352 i2__c4 i2__i i2__m532 i2__r2635 i2__t5 i2_c452 i2_n3 i2_r2635 i2_y6 i32 i32__c4 i32_i5163
i32_u6253 i3__a5 i3_a13 i3_c5 i3_t i5 i5163 i5363 i5__a2235 i5__f6 i5__t3 i5_a25 i5_e5242 i5_n3 i5_p6114
i__c5 i__w3 i_a5 i_c5 i_c53 i_d353 i_g3 i_w4 j23__i5 j23__m j23_k352 k352 k352__n3 k352_i5 k3_i k52 k523
k5__t2 k5__y6 k5_t l14 l152 l1__m22 l1_a l1_m l1_y l22 l235_t l23_m l2__m l32 l32_g3 l32_t6 l3_y l52 l52_a6
m m22 m23_m m25 m2_m4 m4 m516 m532_> m5363 m5__c523 m5_p62 m622 m62_> m63 m65 m6_t5 m_> m__l36 m__m4 m__o6
m__s m__s2 m_a2235 m_b m_m2 m_m25 m_m62 m_u1 m_v2 m_y n n13 n13_i2 n16 n3__v43 n3_a n3_h6 n516__n3 n516_i2
n5__t n5_a53 n_c2356 n_o5 o1 o12_i2 o135 o1352 o15 o165 o1_> o1__p5 o1_t o25 o32 o5 o545_> o5_> o5__l5 o5_i5
o5_t p2 p214 p214_> p2__t p42__m p42__w4 p42__y6 p42__y6241 p42_h1 p42_i5363 p42_l235 p5 p5_> p6 p6114 p62
p625 p62_o6 p_i5 phrase:is-screener phrase:screener q2352 q_> r15 r1652 r21 r23_n r263 r2635 r3 r365 r365__t
r365_t r3_> r4_> r5516 s s12 s3__t s3_m s3_o5 s43_i s4__g3 s5352 s63_m22 s6__d353 s6__m23 s__c4 s_d53 t1 t12
t1_y6 t2__h2 t2__t t2__u6253 t2_a13 t2_a25 t2_c4 t2_t6 t3 t3__i2 t3__n3 t4 t4__w t4__w2 t4_m t5_u24 t6145
t62_w t63_> t6521 t6__a136 t6_a25 t6_m t6_w t__a53 t__i1 t__l5 t__o1 t__r23 t__t3 t__t42 t__w t__w352 t__y6
t_a t_b3 t_c5 t_c535 t_c653 t_d5 t_h5 t_h6 t_l5 t_m553 t_p2 t_p625 t_r2 t_r365 t_t t_t2 t_t5 t_v634 u1_w3
u24 u252 u534__t63 u534_m v2 v254 v43 v634 w w1 w1_> w23 w32_y6 w352 w36 w3__d w3__i2 w3__t w3__y6 w3_i3
w3_t2 w3_y w43__l2 w4__t w4_i w4_y w5 w53__t w5__i w5_i w6__t w__b w__c452 w__c5235 w__m w_c5 w_h1 w_i5 w_m
w_s4 w_s43 y21 y2__n y2__y y2_l1 y2_o6 y6241 y6__a3 y6__a53 y6__c43 y6__h2 y6__n y6__r1652 y6_c2356 y6_c43
y6_p352 y__a13 y__c5 y__c523 y__k352 y__n516 y__p y__t4 y__w3 y__y6 y_c452 y_c53 y_d y_i32 y_m y_m23 y_t62
z6 z6_>
0.5 <_d4 <_f6 <_i3 <_i32 <_t2 <_w5 =around =as =before =called =changed =dial =has =high =huh =if =number
=one =online =only =our =pay =press =to =urgent =went =who =will a13_> a653 b b16 b16_i c43 c45 c452_>
c53__b d_> e5242 f6 h1_b5 h1_y6 h_i3 h_i5 i2_t i32_n2 i5_c452 i__i5 k5 l5_> len13 len7 m23 n2 n516 n6 n_>
n__i5 o54 o545 o6_n p p23 p42 p63 phrase:is-menu phrase:is-voicemail phrase:menu phrase:voicemail s12_> s3
t5_i2 t6 t__e5242 t_m5 t_o12 u6253 w3_i2 y6 y6_n5 y_a6 y_c5 y_i5 y_k5
0.75 <_y <_y6 =for =know =or =try =yo =your b_> c523 f4 i5__y len11 len16 len3 len9 phrase:machine
sentences3
1.0 <_p42 <_t len5 o6
1.5 sentences2
"""
MENU_BIAS = 0.25
MENU = """
-1.25 phrase:is-voicemail
-1.0 i32 phrase:voicemail
-0.75 <_h <_t2 =after =it's =mail a136 c53 m4 phrase:machine y6_c4 y6_n5
-0.5 =five =goodbye =hi =i'm =leave =message =no =office =phone =this =try =voice =yo a3 a4__a6 c43 c43_>
c452_> c4_a25 d d2 d5 f1 g31 g31_> h2 i5 m m22 m2252 m22_> n__i5 o12 r263_y6 sentences3 t__m t__y t_p5 v2
w3_f6 w425__t w5 y6__a53 y6_m22 y_c4
-0.25 #_# #_> #__# <_b3 <_d <_h2 <_h4 <_i <_i1 <_i3 <_i32 <_i4 <_n <_o5 <_r263 <_s <_w5 <_y4 =2 =5 =9
=accept =again =against =ahead =am =answer =answering =around =at =available =back =beating =beep =breathe
=brief =busy =callback =calm =can't =cannot =check =claire =closed =confirm =could =customers =day =deal
=details =dialed =dialled =disconnected =do =does =dr =due =family =find =finished =four =give =group =has
=health =hello =here =hey =high =him =his =hotel =human =humans =humble =i'll =into =introduce =is =it =its
=kept =later =lead =let =lines =lunch =machine =mailbox =man =mark =me =meat =messaging =mike =missed =model
=moist =monday =must =my =name =never =not =now =off =out =party =person =pound =probably =prove =reached
=record =robot =sent =service =set =shall =show =shut =signal =so =spam =start =storm =subscriber =system
=thank =the =them =through =today =toil =tone =trying =until =urgent =voicemail =wait =we =went =when =where
=who =will =you're =yourself a136_t a13__w4 a1414 a1414_t a213 a25 a2523 a25__a a25_a136 a25_l36 a2_d43 a3_>
a3_t a4_l52 a526 a5265 a53__m a53__n5 a53__o5 a53__p42 a53_a a53_d4 a53_m a53_o5 a53_s3 a53_t a53_t4 a53_t6
a53_w3 a53_y6 a553 a5__c4 a5_e5625 a5_i5 a653 a6__f6 a6__i2 a6__n a6__t a6_n3 a6_r4 a6_t652 a__m22 a__o1
a__o6 a__t3 a_b61 a_c412 a_m4 a_s63 b1 b1_> b2 b2_w5 b3 b352 b61 b_> b__a3 b__b2 b__t b_c5143 c23 c2356_p42
c252 c4 c412 c42 c423 c43__t c43_b2 c452_i2 c452_i4 c46_p42 c4_# c4_> c4__# c4__b2 c4__l36 c4__s53 c4__t6
c4_c53 c4_p42 c4_y6 c5143 c5165 c5233_> c53_b c5__o6 c5__t5 c5_b63 d2523 d2__t d2_n3 d342 d342_a53 d43
d4__o5 d4_n5 d53__a5 d6 d_> d_t d_w3 d_y6 e2152 e23_t e5242_> e5625_c4 f1__f1 f1_f1 f2 f4_> f523 f523__u1
f523_h52 f53 f54 f652 f6_# f6_> f6__# f6__f1 f6__i4 f6__o5 f6__u6253 f6__w3 f6_l52 g1 g3_a g5 g61 g63 g_a3 h
h16 h1__h52 h1__t h1_a h1_f523 h1_r23 h3 h34 h43_o5 h5 h514 h526 h55 h552 h55_p62 h56 h__k5 h_t2 h_y i1_i32
i2 i2__c4 i2__t i2_f4 i2_n3 i32_m i3_t i3_w4 i4 i4_c4 i5234 i53 i5363 i5__a4 i5__y i5_c452 i5_n3 i5_o5
i5_s612 i__a i__i5 i__w3 i_a5 i_c53 i_d i_w4 k5 k52 k5__c5 k5__t2 k5__y6 k5_w3 l1 l14 l1_m l1_y6 l2__l1
l2_i1 l3 l36 l36_> l52 l526_i5 l52_a6 l5__i5 l5_i2 len13 len9 m2 m2252_s235 m22_o6 m23__y m23_m4 m24 m25 m26
m34_> m412 m4_> m53 m5363_f6 m62 m63 m_> m__a136 m__m m__o6 m_b2 m_w4 n16 n2_> n3 n3__t n5 n516_i2 n516_t3
n516_y n5__o5 n5_a53 n5_p42 n6 n_l526 n_o5 o1352_> o16 o1_t o1_y6 o25 o3 o36_l5 o3__t o3_o1 o3_t o5__a53
o5__o36 o5__t5 o5_a o5_i5 o5_m553 o5_o5 o6__f6 p4 p42__u1 p42__y6241 p42_c4 p42_h52 p42_i5363 p42_l1 p42_p62
p42_r263 p42_s12 p5 p53 p53_f6 p61 p6114 p61__a6 p61_y p625 p625__a6 p62_p53 r13 r13_p62 r2135 r23 r23_n
r263 r263__m22 r2_t r4 r4_> s12 s1261 s15_> s235 s254 s365 s4 s41 s5 s53 s53_t s612 s612_> s63_m22 s6__m23
s_s5352 s_y sentences2 t t2 t2__h2 t2__o1 t2_i2 t2_n516 t3_w t42_t t4__w t4_y6 t52_s3 t5_> t5_p42 t5_t5 t63
t652 t652__r2 t652_t t6__c4 t6__i5 t6_m t6_y6 t__a53 t__a6 t__c43 t__c5233 t__f4 t__h6 t__i2 t__m2252
t__m412 t__n516 t__o6 t__s12 t__t42 t__v254 t__w t__y6 t_a t_b t_c2356 t_d2 t_d5 t_f1 t_h43 t_i2 t_l1 t_m
t_m22 t_m2252 t_m25 t_m4 t_n516 t_o12 t_p63 t_s1261 t_s254 t_t5 t_t52 t_v254 u1_> u1__d4 u1__t6 u534 u534_t6
u6253 v254 v2_m w w1 w2__t w3__d w3__t w4 w43__t w43_l2 w4_y w5_y w6 w62_> w63 w63_t w__c452 w_m y6241 y6__a
y6__a25 y6__a3 y6__c53 y6__o5 y6__p42 y6_a526 y6_d342 y6_t4 y__f523 y__h1 y__l2 y__m y__t6 y__w3 y__y6 y_d
y_i y_i5 y_m23 y_r2
0.25 #_f6 #_t <_a4 <_c45 <_d3 <_d4 <_d53 <_i2 <_l1 <_o6 <_p6 <_p62 <_t6 <_w3 <_w425 =6 =a =about =agent =all
=an =answered =any =appointment =bakery =billing =book =booking =building =calling =card =carefully =change
=changed =choices =choose =city =clean =clinic =color =connecting =continued =customer =department =dial
=directions =during =emergency =example =extension =following =foretolding =from =gas =get =hand =hang =hear
=help =holding =how =important =insurance =june =just =key =keypad =language =law =left =let's =life =live
=long =lost =may =medical =member =men =more =new =next =northern =online =operator =oprima =options =order
=patience =purposes =questions =queue =ready =recorded =reference =report =resources =run =sales =see
=select =sentence =seven =shortly =sorry =star =started =stored =support =tariq =team =they =they're =times
=to =training =turn =two =usual =valid =waiting =walking =way =website =what's =wish =with =within =words
=you =you'd =your a a1 a13 a13_a5 a1535 a25_> a2__c5 a3533__o1 a3533_l5 a3535 a3__m553 a3_a5 a4 a4__m a4_o1
a4_o6 a5 a5263 a526_> a53__# a53__c452 a53__f6343 a53__h2 a53__t a53_f6 a53_i4 a53_p63 a53_s363 a53_w425
a53_y a5_h6 a5_o1636 a5_t5 a6__a3 a6__i5 a6__n516 a6__t6521 a6_c46 a6_c5235 a6_e2165 a__b63 a__c2356
a__e5625 a__f6 a__o135 a__w632 a_c4 a_h26 a_l522 a_m324 a_n a_v43 b252 b42 b4352 b452 b452_p62 b52 b52__t
b52_t6521 b63 b635 b__a53 b__f6 b_a5263 b_m5363 b_n5 b_r2633 c2 c22 c2356_> c2__a c3 c32 c43_a c452__c4
c452__l2 c452__o5 c452_i5163 c452_s5 c452_t c462 c46_n516 c4__b c4_i3 c4_w4 c52 c523 c5233_t c5235 c5235_y
c523__l235 c523_p42 c5353 c535__e5242 c535_i5 c5__h41 c5__o5 c5__t c5_i c5_s c5_s12 c5_t4 c6 c63 c653_w352
d1635 d353__t3 d353_g3 d3__k5 d3_y d6235 d6235_p62 d652 e e2 e2352 e2353 e23_> e2514 e2514__l23 e5242
e5242_b63 e536_y6 e5625 f3 f43 f452 f6 f63 f6343 f65_t f6__b623 f6__p352 f6__p6122 f6__s f6__s5 f6_a f6_a4
f6_b452 f6_d6235 f6_e5242 f6_h4352 f6_m f6_t f6_t6552 f_w632 g2 g3 g3__p42 g3_s3633 g3_t3 h1 h1__p42 h1__t5
h1_c43 h23 h26 h43 h4352 h43_> h4__i2 h4__w425 h4_a53 h4_t2 h52 h52_u1 h53 h53_> h55_r2622 h6 h6__a25 h6_t2
h__i i1__k5 i2__a i2__a5 i2__m324 i2__m532 i2__t5 i2__t6521 i2_a i2_i5 i2_t i2_t2 i2_y6 i3__t i4__y i5163
i5163__u2 i5163_t i5165_l5 i5265 i5_> i5__a53 i5__i i5__i5 i5__l1 i5__q i5__s5352 i5__t3 i5_a i5_e5242 i5_f4
i5_l5 i5_y6 i__g3 i__t i__y i__y6 i_d353 i_h41 j23 j23__m j5 k k13_> k5__e2352 k5_t k__y6 k_i5 l13 l1_i5
l1_t l235__a4 l24 l32 l32__s3633 l32_t6 l522 l5_> len16 len7 m1 m22__t m22_f6 m22_p62 m324 m324_e5625 m34
m452 m5 m516 m532_> m553__c4 m562 m5__c523 m5__h1 m5_h2 m6_t5 m__i5 m__m5363 m__t m_i5 m_o5 n23 n3__i3
n3__o5 n3__u2 n3__v43 n516_> n516__t n516_f6 n516_p42 n516_t6 n5_> n6365 n_c2356 o1352 o165 o1__p625 o1_a
o1_m o36__s3 o36_c462 o3_> o545 o545_> o5__l5 o5__p42 o5_n o5_t o6 o636 o6__e42 o6__o5 o6_k o6_m5 o6_s5352
o6_t5 o6_w123 o_t p3 p352 p42 p42__a53 p42__o6 p42__w3 p42__w4 p42_e536 p42_h1 p42_l235 p42_s p42_s423 p6
p6122 p6122_> p625__w53 p62_# p62_n5 p62_o5 p62_o6 p62_s15 p63 p632 p6356 phrase:back phrase:is-None q q2352
q_> r163 r163_a5 r1652 r2252 r23_t r2622 r2633 r2633__s363 r2633_a53 r2633_f6 r2_> r365__t r365_t r3_> r5
s163 s36 s3633 s363_> s42 s423__l522 s423_a s5352 s5352__y s5352_e42 s6 s634 s634_> s6__d353 s6_t3 s__k
s__u1 s__y s_o6 t1_y6 t2__a t2__p62 t2_a25 t2_c4 t3 t3__n3 t4__y t4_m t52 t52__t t52_f6 t5__a6 t5_i2 t5_u24
t65 t6521__t t653_t t6552 t6552_p6122 t6_w t__a t__a253 t__c462 t__i5 t__l5 t__m22 t__o1636 t__o5 t__p62
t__t2 t__t6 t__u1 t__w352 t_a4 t_b4352 t_c4 t_c524 t_e2352 t_e2353 t_f623 t_g t_h6 t_l5 t_m553 t_n3 t_n5
t_o6 t_p625 t_q t_r13 t_r163 t_r2 t_r365 t_s12 t_t t_u2 u1__c4 u1_i5 u1_w3 u24 u2_> v43 v634_a253 w123 w23
w2_t w3 w32 w32_y6 w35 w352 w3_> w3__a6 w3__c452 w3__s634 w3__y6 w3_a w3_i2 w3_y w3_y6 w4252 w425_t
w4__a5263 w4__c5233 w4_c5 w632 w__c5235 w__e2165 y2 y2__n y2_o6 y3__t y3_l2 y4_c4 y6__a13 y6__c43 y6__h2
y6__i5 y6__i5163 y6__m y6__n y6__n516 y6__r1652 y6_k13 y6_p352 y__b52 y__c43 y__c46 y__c523 y__h4352 y__n516
y__s y__t4 y__y y_a6 y_c5 y_c53 y_f6343 y_h1 y_k5 y_m y_s y_s634 y_t y_w2 z6_>
0.5 <_c4 <_j23 <_t =automated =breath =didn't =enter =experiencing =for =her =hold =like =menu =might
=minutes =option =or =part =press =say =tell =than =that =three =transferred =us =welcome =yes a253 a3533
a4_t a6__y b63_o5 c452_a13 c4_m d353 e2165 e536 f6__p62 h1_c523 h1_y6 h63 h_c5 i1_y i2__a3533 i5_s6 m532 m_b
n5__t n_> o o135 o1636 o5__# o5_f6 o6_n p23 p42_h43 p62 p62__f6 s12_t s_w3 t2__t t5 t6521 t6521_t t6_> t__a5
t__i t__t t_a3533 u2 w2 w425 w4_b y4 y6
0.75 <_f6 =english a53_c4 ends?
1.0 <_p42
1.25 phrase:is-menu phrase:menu
"""
SCREENER_BIAS = -1.0
SCREENER = """
-1.25 phrase:is-voicemail
-1.0 phrase:voicemail
-0.75 c53 l1
-0.5 <_i1 <_t2 <_y =again =back =in =it's =leave =mail =message =not =our =shall =the =time =wait a25 b2
c524 d h i32 len3 m22 m4 o1_t o6 phrase:is-None t2_i2 y_c5
-0.25 #_# #__# <_a4 <_c4 <_h <_h1 <_h4 <_i32 <_i5 <_n <_s <_w3 <_w425 <_y4 =1 =all =an =and =at =breathe
=busy =but =can't =cannot =car =changed =claire =customer =day =don't =due =english =enter =family =few
=goodbye =great =have =hey =high =humble =important =just =later =lead =mailbox =make =me =meet =messages
=missed =moist =monday =my =never =next =nine =number =office =one =other =out =read =record =remember
=right =service =signal =so =soon =storm =thank =three =today =try =trying =two =until =up =us =voicemail
=we =welcome =when =yo =you'd a253 a25_> a25_l36 a2__a2 a2_s5 a3__m553 a5 a53 a53__m a53__p42 a53__t5
a53_n516 a53_w4 a6__o5 a6__t a6_c452 a6_t652 a_f a_g63 b1 b2_t b2_w5 b4 b42 b63 b_> c2356 c43_> c452_a13
c4__b c4__l36 c4_a25 c4_c53 c4_y6 c5233_t c53__t c53_b c53_c5 c5_> c5__t c5_b63 c6 d2 d4 d5 d53 d53__a5 d_>
d_t e5242 e536 e5625 f1_> f54 f63 f6__u6253 f6_a f6_c452 f6_t g31 g31_> g3__t g3_b2 g63 h1_y6 h2 h2_b5 h4
h514 h52_u1 h__i2 h_i h_t2 i1_i32 i1_t2 i2__i5 i2_n3 i3__f6 i3_i2 i5163 i5165 i5__f i5__t i5_a i5_n3 i5_o5
i__y6 i_c53 i_w4 j23 j5 k5_w3 l1__m22 l1__n5 l1_a l1_y6 l235_t l36 l36_> l3_y6 l52 l5_i2 len13 len7 m m222
m2252 m22_> m23_m4 m412 m53 m6 m62 m_> m_c42 m_p5 n16 n23 n3 n3__t n516 n516_> n516_f6 n5__n516 n5_p42 n__i2
n__i5 n_o5 o12 o1_> o1__p625 o3 o36 o3_> o3_o1 o5__a53 o5__m3 o6__o5 p23 p42__w3 p42_l1 p42_r263 p42_t6
p42_w3 p5 p625_y phrase:machine r23_t r263 r263_y6 r3 r4_> r5516 s254 s365 s41 s53 s53__t s5_a2 s6 s612 s_w3
sentences2 sentences3 t23 t2__c4 t3_> t52__c452 t52__f6 t52_f6 t5__y6 t62_t t652 t652__r2 t652_t t6_a25 t6_m
t_> t__a t__f6 t__l5 t__o6 t__p5 t_a t_b4 t_l t_m t_m553 t_o12 t_o36 t_p5 t_s53 t_t t_v254 u1 u2 u534 v254
w3_> w3__a6 w3__c452 w3__d w3_f6 w425 w425_t w4_y w5_i w62 w_c53 y y3 y3__t y4 y6__a53 y6__c53 y6__n516
y6__p42 y6_c4 y6_m22 y__c452 y__m y_c4 y_f6 y_k5
0.25 # <_a53 <_b16 <_b3 <_c43 <_i2 <_i3 <_l235 <_t <_t52 =about =action =against =ahead =am =announce
=announced =answer =anything =are =ask =asking =assistant =before =being =called =callers =calling =calls
=can =checking =clean =colleague =come =confirm =connect =could =doctor =else =for =from =give =go =going
=green =guarded =help =hold =hotel =human =humans =i =i'm =identify =installing =it =key =let =like =lord
=may =meat =moment =monitored =mouth =need =of =on =owner =pass =private =protected =protection =prove
=quick =reached =really =reason =receptionist =screener =secretary =she =should =show =some =spam =state
=tell =thanks =then =they =this =to =toil =unknown =using =virtual =what's =whether =who's =whom =why =would
=you've a13 a136_t a1414_p42 a2 a2235 a252 a2523 a2__t a3_> a4_c42 a526 a5265_f6 a5352 a5352_e42 a53__i2
a53__o5 a53__w4 a53_s3 a53_w a552 a5523 a6 a6__a a6_a a6_n a6_n3 a6_r4 a__f6 a__l5 a__p62 a__r2135 a_c4 a_i
a_p613 b16 b16_w b52 b__t b_a5523 c23 c4 c42 c42_> c42__t2 c42_f6 c43 c4353_u5362 c43_t c43_y c45 c452_a53
c462 c4__i c4__s c4_a13 c4_m c4_p6323 c4_s656 c4_w4 c5 c5165 c523_y c535_> c5__h41 c5__t5 c5_i c5_t42 d236
d__w53 d_y e42 e42_> f3 f43__t f53_o3 f65 f6__c4 f6__w32 f6_y6 g g1 g1__n5 g3__c4 g3_a g52 g52_t g633 g65
g_a3 h1_> h34 h41 h41_y h43_> h4__i2 h4_t2 h55 h552 h55_p62 h__a5 h__i h__r23 h_c5 h_i5 h_y1 i i1__c5 i1_t
i2__a5352 i2__c4 i2_b52 i2_c452 i2_g633 i2_i3 i2_i5 i3531 i3_o5 i4__i1 i4_c4 i4_p2 i4_s i5__a3533 i5__i1
i5__i3 i5_c452 i5_t i__a2 i__h5 i__y i_c5 i_h41 i_r2135 k l5__y l5_i1 l63 len5 m23__y m3 m52 m5363 m553 m65
m__i2 m__y6 m_m25 m_w3 n3_a n516_a6 n5__p42 n5_f6 n5_t n__p62 o1__p5 o1_t2 o2 o3__y6 o56 o56__t2 o56_o1
o5__i o5__t6 o5_n p2 p2__o5 p4 p42 p42_> p42__w p42__y6 p42_h52 p42_p62 p42_s p42_s3 p613 p613_l5 p61__a6
p61__y p61_t3 p61_y p6252 p62_# p62__t p62_t6 p6323 p63_o1 phrase:another phrase:is-menu phrase:menu q2 r1
r13_p62 r15 r2135 r23_a r25 r25_f6 r4 r5 s s15 s15_> s2636 s3 s32 s33 s33_y6 s43 s5 s656 s6__c4353 s__w s_i1
s_y t t2 t2__a6 t2__n5 t2__o1 t2_c42 t2_n516 t2_p5 t2_y6 t3__a6 t3_o5 t3_y t42_> t4_> t4__n5 t4__w3 t52__o5
t52_s3 t5__c4 t5_t t5_y6 t62 t6__p42 t6_t t__a13 t__c5233 t__n516 t__o1 t__s2636 t__t3 t__t42 t_b t_c2 t_c5
t_c523 t_h1 t_l5 t_o56 t_p61 u252 u5255 u6253__c5 u6253_i v634 v634__o1 v634_s2636 w32 w32_t2 w36 w3__i3
w3__n3 w3__y w3_t w43 w43__l2 w43_y w4_a552 w4_b w53_t w__c452 w__i w__m w_m w_y6 y1 y1_r23 y6 y6__a136
y6__n5 y6_a526 y6_c43 y6_n516 y6_t4 y__n y__n3 y__t y__t62 y_l2 y_m23 y_n3 y_t y_t62
0.5 <_i4 <_o5 <_w =breast =connected =group =health =i'll =introduce =must =person =plea =please =press
=robot =stay =that =their =them =through =what =with =your =yourself a13_> a53_w3 b623 b_c5233 c252 c43__t
c5233 c5233_> g61 h43 i4 i5234 i5363 l5_> m5363_f6 m__o6 m_i n5_> o1_y6 o5__l5 o5_m553 p42__y6241 p42_i5363
p42_t4 p61 p62 p625 p653 phrase:question r13 s3__t s3_o5 t3 t4 t__y6 t_c4 w3 w3_i2 y6241 y6__w3 y6__w4 y_a6
0.75 =who c452_> w y6_n5
1.0 =name n5 phrase:back phrase:is-screener phrase:screener
1.25 ends?
"""
USUAL_WORDS = """
1 2 3 4 5 6 8 9 a able about accept account accounts after afternoon again agent ahead all am an and anna
announce answer answered answering any anything appointment are as ask asleep assistant at automated
available away back bad bakery bank be because been beep before being ben bill billing book booking brian
bright busy but by bye call called caller callers calling calls can can't cannot car card carefully catch
changed check choose city clinic closed colleague come company confirm connect connected continue could
couldn't currently customer cuts dad dave day delivery dental department desk details dial dialed dialled
did didn't digital direct directions do doctor does don't door down driving drop due eight else email
emergency english enter espa estimated evening example experiencing extension family few find finished first
five followed following fooled for forwarded four free from front full garage garden gas get give go going
golden good goodbye google got green ha hang has hash have he he's hear hello help her here hey hi him his
hold holding home hotel hour hours how human i i'll i'm i've if important in information instead insurance
is isn't it it's ivan joe's just kate key keypad know last later leave left let let's library life like line
listen longer look lost love lunch machine mailbox main make may me medical menu message messages messaging
minute minutes missed mister mobile moment monday monitored more morning must my name need new next nick
nine no nobody northern not now number of off office oh okay ol olivia on one open operator oprima options
or order other our out outside owner para party pass paul person pharmacy phone pick pizza please plumbing
pound press priya probably protected prove purpose put queue reach reached ready real really reason
reception receptionist record recorded recording reference regarding remember repeat report residence
resources return right ring rita robot room sales say school screened screening sec second see send sent
service set seven shall she she's short should show shut signal six so someone something soon sorry spam
speak speaking star state stay still street subscriber summit support system table take talk team tell text
than thank thanks that that's the them then there these they think this three through time times to today
tom tomorrow tone tony's touch training transferred travel try trying two um unable understand unknown until
up urgent us use uses using usual valid victor virtual voice voicemail wait waiting want warehouse was we
we'll we're website week welcome well wendy what what's when where whether which while who who's why wife
will wireless with wok words work would wrong yeah yes yet yo you you'd you're you've your yourself zero zoe
"""
