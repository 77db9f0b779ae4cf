"""Frequent names in the United States, lower case, by the alphabet.

From the frequency lists of its census of 1990, which are in the public domain.
"""

from __future__ import annotations

_FIRST = """
aaron adam adrian agnes alan albert alberto alex alexander alfred alfredo alice alicia allan allen allison
alma alvin amanda amber amy ana andre andrea andrew andy angel angela anita ann anna anne annette annie
anthony antonio april arlene armando arnold arthur ashley audrey barbara barry beatrice becky ben benjamin
bernard bernice bertha bessie beth betty beverly bill billie billy bob bobbie bobby bonnie brad bradley
brandon brandy brenda brent brett brian brittany bruce bryan byron calvin carl carla carlos carmen carol
carole caroline carolyn carrie casey cassandra catherine cathy cecil chad charlene charles charlie
charlotte cheryl chester chris christian christina christine christopher christy cindy claire clara
clarence claude claudia clayton clifford clifton clinton clyde cody colleen connie constance corey cory
courtney craig crystal curtis cynthia daisy dale dan dana daniel danielle danny darlene darrell darren
darryl daryl dave david dawn dean deanna debbie deborah debra delores denise dennis derek derrick diana
diane dianne dolores don donald donna dora doris dorothy douglas duane dustin dwayne dwight earl eddie
edgar edith edna eduardo edward edwin eileen elaine eleanor elizabeth ella ellen elmer elsie emily emma
enrique eric erica erik erika erin ernest esther ethel eugene eva evelyn everett felicia felix fernando
florence floyd frances francis francisco frank franklin fred freddie frederick gabriel gail gary gene
george georgia gerald geraldine gertrude gilbert gina gladys glen glenda glenn gloria gordon grace greg
gregory guy gwendolyn harold harry harvey hazel heather hector heidi helen henry herbert herman hilda
holly howard hugh ian ida irene irma isaac ivan jack jackie jacob jacqueline jaime james jamie jane janet
janice jared jason javier jay jean jeanette jeanne jeff jeffery jeffrey jennie jennifer jenny jeremy
jerome jerry jesse jessica jessie jesus jill jim jimmie jimmy jo joan joann joanne joe joel john johnnie
johnny jon jonathan jordan jorge jose joseph josephine joshua joy joyce juan juanita judith judy julia
julian julie julio june justin karen karl katherine kathleen kathryn kathy katie katrina kay keith kelly
ken kenneth kent kevin kim kimberly kirk kristen kristin kristina kurt kyle lance larry laura lauren
laurie lawrence leah lee lena leo leon leona leonard leroy leslie lester lewis lillian lillie linda lisa
lloyd lois lonnie loretta lori lorraine louis louise lucille lucy luis lydia lynn mabel mae manuel marc
marcia marcus margaret margie maria marian marie marilyn mario marion marjorie mark marlene marsha
marshall martha martin marvin mary mathew matthew mattie maureen maurice max maxine megan melanie melinda
melissa melvin michael micheal michele michelle miguel mike mildred milton minnie miriam misty mitchell
monica morris myrtle nancy naomi natalie nathan nathaniel neil nellie nelson nicholas nicole nina nora
norma norman olga oscar pamela patricia patrick patsy paul paula pauline pearl pedro peggy penny perry
peter philip phillip phyllis priscilla rachel rafael ralph ramon ramona randall randy raul ray raymond
rebecca regina reginald rene renee rhonda ricardo richard rick ricky rita robert roberta roberto robin
rodney roger roland ron ronald ronnie rosa rose rosemary ross roy ruben ruby russell ruth ryan sally
salvador sam samantha samuel sandra sara sarah scott sean sergio seth shane shannon sharon shawn sheila
shelly sherri sherry shirley sidney sonia stacey stacy stanley stella stephanie stephen steve steven sue
susan suzanne sylvia tamara tammy tanya tara ted teresa terrance terrence terri terry thelma theodore
theresa thomas tiffany tim timothy tina todd tom tommy toni tony tonya tracey tracy travis troy tyler
tyrone valerie vanessa velma vera vernon veronica vicki vickie victor victoria vincent viola violet virgil
virginia vivian wade wallace walter wanda warren wayne wendy wesley willard william willie wilma yolanda
yvonne zachary
"""
_LAST = """
aaron abbott abrams acevedo ackerman acosta adams adkins aguilar aguirre akers albert albright aldridge
alexander alford allen allison alston alvarado alvarez ames amos andersen anderson andrade andrews anthony
archer arellano arias armstrong arnold arrington arroyo arthur ash ashley atkins atkinson austin avery
avila ayala ayers baca bacon bailey baird baker baldwin ball ballard banks barber barker barlow barnard
barnes barnett barr barrera barrett barron barry bartlett barton bass bates battle bauer baxter beach bean
beard beasley beatty beck becker belcher bell beltran bender benitez benjamin bennett benson bentley
benton berg berger bergeron bernal bernard berry best betts billings bingham bird bishop black blackburn
blackmon blackwell blair blake blanchard blanco bland blankenship blanton blevins bloom blount blue boggs
bolden bolton bond bonilla bonner booker boone booth boswell boucher bowden bowen bower bowers bowles
bowling bowman boyce boyd boyer boyle bradford bradley bradshaw brady bragg branch brandon brandt brantley
braun bray brennan brewer brewster bridges briggs bright britt britton brock brooks broussard brown
browning bruce bruno bryan bryant buchanan buck buckley buckner bullard bullock bunch burch burgess burke
burkett burks burnett burns burrell burris burt burton bush butler butts byers byrd byrne cabrera cain
calderon caldwell calhoun callahan camacho cameron camp campbell campos cannon cano cantrell cantu capps
cardenas carey carlisle carlson carlton carmichael carney carpenter carr carrillo carroll carson carter
cartwright carver case casey cash castaneda castillo castle castro cates caudill cervantes chamberlain
chambers chan chandler chaney chang chapman chappell charles chase chavez chen cherry childers childress
childs christensen christian christopher chung church cisneros clark clarke clay clayton clement clements
clemons cleveland clifton cline coates cobb cochran coffey coffman cohen coker colbert cole coleman
collier collins colon combs compton conklin conley conner connolly connor conrad contreras conway cook
cooke cooley cooper copeland corbett corbin cordova cormier cornett correa cortez costa costello cote
cotton couch courtney covington cowan cox crabtree craft craig cramer crane crawford crews crocker
crockett crosby cross crouch crow crowder crowe crowley crum cruz cuevas cummings cummins cunningham
curran curry curtis dailey dale dalton daly daniel daniels daugherty davenport david davidson davies
davila davis dawson day deal dean decker dejesus delacruz delaney delarosa deleon delgado dempsey dennis
denton dewitt diaz dick dickens dickerson dickey dickinson dickson dillard dillon dixon dobson dodd dodson
doherty dominguez donahue donaldson donnelly donovan dooley dorsey doss dotson dougherty douglas downey
downing downs doyle drake draper drew duarte dubois dudley duffy duke dukes dumas dunbar duncan dunham
dunlap dunn dupree duran durham dwyer dye dyer eaton edmonds edwards elder eldridge elkins elliott ellis
ellison elmore emerson emery england english enriquez erickson ervin erwin escobar esparza espinosa
espinoza estes estrada evans everett ewing fair farley farmer farr farrell farris faulkner feliciano felix
ferguson fernandez ferrell ferris field fields figueroa finch fink finley fischer fish fisher fitzgerald
fitzpatrick flanagan fleming fletcher flores flowers floyd flynn foley fontenot forbes ford foreman
forrest foster fountain fowler fox francis franco frank franklin franks fraser frazier frederick freeman
french frey friedman fritz frost fry frye fuentes fuller fulton funk gagnon gaines galindo gallagher
gallegos galloway galvan gamble garcia gardner garland garner garrett garrison gary garza gaston gates gay
gentry george gibbons gibbs gibson gilbert giles gill gillespie gilliam gilmore gipson givens glass
gleason glenn glover godfrey godwin goff goins goldberg golden goldstein gomez gonzales gonzalez good
goode goodman goodwin gordon gore gorman goss gould grace grady graham grant graves gray green greene
greenwood greer gregg gregory griffin griffith griggs grimes gross groves guerra guerrero gunn gunter
gustafson guthrie gutierrez guy guzman haas hahn haines hairston hale haley hall hamilton hamm hammond
hampton hancock hand haney hankins hanna hannah hansen hanson harden hardin harding hardy hargrove harmon
harper harrell harrington harris harrison hart hartley hartman harvey hastings hatch hatcher hatfield
hathaway hawkins hayden hayes haynes hays head heard heath hebert heller helms helton henderson hendricks
hendrickson hendrix henley henry hensley henson herbert herman hernandez herrera herring herron hess
hester hewitt hickey hickman hicks higgins hill hilliard hilton hines hinkle hinton ho hobbs hodge hodges
hoffman hogan holbrook holcomb holden holder holland holley holliday hollingsworth hollis holloway holman
holmes holt hood hooper hoover hopkins hopper horn horne horton hoskins house houser houston howard howe
howell hubbard huber hudson huerta huff huffman huggins hughes hull humphrey hunt hunter hurd hurley hurst
hurt hutchins hutchinson hutchison hyde ibarra ingram inman irvin irwin ivey jackson jacobs jacobson james
jamison jaramillo jarvis jefferson jeffries jenkins jennings jensen jewell jimenez john johns johnson
johnston jones jordan joseph joyce joyner juarez justice kaiser kane kaplan katz kaufman keith keller
kelley kelly kemp kendall kendrick kennedy kenney kent kern kerr kessler key keys kidd kim kimball king
kinney kirby kirk kirkland kirkpatrick klein kline knapp knight knowles knox koch kramer krause krueger
kuhn lacy ladner lake lam lamb lambert lancaster land landry lane lang lange langley lara larkin larsen
larson latham law lawrence lawson le leach leal leblanc lee lehman leon leonard leslie lester levine levy
lewis lilly lin lindsay lindsey little livingston lloyd locke lockhart logan long lopez lord lott love
lovell lowe lowery lowry lozano lucas lucero lugo luna lund lutz lynch lynn lyon lyons macdonald macias
mack mackey madden maddox madison magee mahoney major maldonado malone maloney manley mann manning manuel
marin marino marks marquez marrero marsh marshall martin martinez mason massey mata mathews mathis
matthews maxwell may mayer mayes mayfield maynard mayo mays mcallister mcbride mccabe mccain mccall mccann
mccarthy mccarty mccauley mcclain mcclellan mcclendon mcclure mcconnell mccord mccormick mccoy mccray
mccullough mcdaniel mcdermott mcdonald mcdowell mcelroy mcfadden mcfarland mcgee mcghee mcgill mcginnis
mcgowan mcgrath mcgraw mcguire mcintosh mcintyre mckay mckee mckenzie mckinley mckinney mcknight
mclaughlin mclean mcleod mcmahon mcmanus mcmillan mcneal mcneil mcneill mcpherson mcqueen mead meade
meadows medina meeks mejia melendez melton melvin mendez mendoza mercado mercer meredith merrill merritt
messer metcalf meyer meyers meza michael middleton miles miller milligan mills milton miner minor miranda
mitchell mobley molina monroe montes montgomery montoya moody moon mooney moore mora morales moran moreno
morgan morin morris morrison morrow morse morton moser moses mosley moss moyer mueller mullen muller
mullins muniz munoz murdock murphy murray myers nance nash navarro neal neely nelson newell newman newsome
newton nguyen nicholas nichols nicholson nielsen nieves nix nixon noble noel nolan norman norris norton
norwood novak numbers nunez obrien ochoa oconnell oconnor odell odom odonnell oliver olsen olson oneal
oneil oneill orozco orr ortega ortiz osborn osborne ott owen owens pace pacheco padgett padilla pagan page
paige painter palacios palmer park parker parks parrish parsons pate patel patrick patterson patton paul
payne payton pearce pearson peck pelletier pena penn pennington peoples perez perkins perry peters
petersen peterson petty pham phelps phillips phipps pickett pierce pierre pierson pike pineda piper
pittman pitts plummer poe polk pollard pollock ponce poole pope porter post potter potts powell powers
pratt preston price prince pritchard proctor pruitt pryor puckett pugh quick quinn quinones quintana
quintero raines rainey ramey ramirez ramos ramsey randall randolph rangel rankin rasmussen ratliff ray
raymond reece reed reese reeves reid reilly reyes reyna reynolds rhodes rice rich richard richards
richardson richmond richter ricks riddle riggs riley rios ritchie ritter rivas rivera rivers roach robbins
roberson roberts robertson robinson robison robles rocha rodgers rodrigues rodriguez rodriquez roe rogers
rojas rollins roman romero rosa rosado rosales rosario rose rosenberg ross roth rouse rowe rowland roy
rubio rucker rudolph ruffin ruiz rush rushing russell russo rutherford rutledge ryan salas salazar salgado
salinas sampson samuels sanchez sanders sanderson sandoval sanford santana santiago santos sargent
saunders savage sawyer schaefer schmidt schmitt schneider schroeder schultz schwartz scott seals sears
self sellers serrano sewell sexton seymour shafer shaffer shannon sharp sharpe shaw shea sheehan sheffield
shelton shepard shepherd sheppard sherman shields shirley shoemaker short silva silver simmons simms simon
simons simpson sims sinclair singer singh singleton sizemore skinner slater slaughter sloan small smart
smiley smith snell snider snow snyder solis solomon sorensen sosa soto sparks spears spence spencer spivey
springer stafford stanford stanley stanton stark starks starr steele stein stephens stephenson sterling
stevens stevenson steward stewart stinson stokes stone story stout stover strickland strong stroud stuart
suarez sullivan summers sutherland sutton swain swan swanson swartz sweeney sweet swift sykes talley
tanner tapia tate tatum taylor teague temple terrell terry thomas thomason thompson thomson thornton
thurman tidwell tillman tipton todd tolbert tomlinson toney torres townsend tracy tran travis trent
trevino trujillo tucker turner tuttle tyler tyson underwood valdez valencia valentine valenzuela vance
vang vargas vasquez vaughan vaughn vazquez vega velasquez velazquez velez vickers vigil villa villanueva
villarreal villegas vincent vinson vogel voss waddell wade wagner walden walker wall wallace waller walls
walsh walter walters walton wang ward ware warner warren washington waters watkins watson watts weaver
webb webber weber webster weeks weiss welch wells welsh werner wesley west weston whaley wheeler whitaker
white whitehead whitfield whitley whitney wiggins wilcox wilder wiley wilkerson wilkins wilkinson willard
william williams williamson willis wills wilson winston winter winters wise wiseman witt wolf wolfe womack
wong wood woodard woodruff woods woodward wooten workman worley wright wyatt wynn yang yarbrough yates
yoder york young zamora zimmerman zuniga
"""
FIRST_NAMES = tuple(_FIRST.split())
"""The 300 most frequent of women and of men."""
LAST_NAMES = tuple(_LAST.split())
"""The 1,500 most frequent."""
