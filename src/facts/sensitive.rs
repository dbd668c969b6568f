//! The special categories of personal data, which are remembered only after the user opted in to them, one by one.
//!
//! A lexicon in seven languages, in front of which the extracting model is asked to leave the same things out. It cannot
//! find what is only implied; it makes sure that what is said plainly does not get through.

use super::fingerprint::normalized;
use std::borrow::Cow;

/// The special categories (those of GDPR articles 9 and 10) with words and phrases that tell of them, normalised. A word
/// that ends in `*` is a beginning, one that begins with it an end; words joined by `&` tell of it together. Latin and Cyrillic words stand alone; those of other scripts are found anywhere, and
/// are chosen so that they are no part of common words of another meaning (a Korean outage, a Japanese effort).
const SENSITIVE: [(&str, &str); 8] = [
    (
        "health",
        "diagnosed with|was diagnosed|been diagnosed|my diagnosis|disease|illness|disorder|depression|depressed|depressive|\
anxiety|panic attack*|adhd|autis*|bipolar|schizo*|diabet*|cancer|tumor|tumour|leukemia|hiv|has aids|have aids|epilep*|\
asthma*|allergy|allergies|allergic to *|pregnan*|miscarriage|abortion|infertil*|medication|antidepress*|insulin|\
take lithium|takes lithium|on lithium|chemo*|my therapy|in therapy|therapist|psychiatr*|psycholog*|surgery|\
i m disabled|am disabled|user is disabled|disability|wheelchair|addict|addiction|addicted to drugs|\
addicted to alcohol|alcoholic|overdose|suicid*|blood pressure|cholesterol|heart attack|heart disease|stroke survivor|\
migraine*|arthritis|dementia|alzheimer*|parkinson*|multiple sclerosis|crohn*|lupus|colitis|hepatitis|eating disorder|\
anorexi*|bulimi*|ptsd|my doctor|the doctor put me|prescribed me|rehab|dialysis|hospitalized|hospitalised|krank|\
krankheit*|erkrank*|diagnostiziert|meine diagnose|schwanger*|habe krebs|hat krebs|brustkrebs|lungenkrebs|\
bin behindert|behinderung*|schwerbehindert*|antidepressiva|depressionen|psychotherap*|therapeutin|mein therapeut|\
hausarzt|herzinfarkt|schlaganfall|blutdruck*|bluthochdruck|allergisch|allergie*|fehlgeburt|süchtig|alkoholiker*|\
angststörung|wurde operiert|bin operiert|maladie|enceinte|dépress*|handicapé*|cancéreu*|asthmatique|allergique|\
enfermedad*|embarazada|cáncer|depresión|antidepresiv*|discapacidad*|diagnosticaron|diagnosticado|diagnosticada|\
psiquiatr*|psicólog*|medicación|infarto|alérgic*|alergia*|hipertens*|asma|asmátic*|celíac*|migraña*|ansiedad|\
me operaron|me operé|en tratamiento por|tiroides|quimioterapia|aborto|adicto|adicta|malattia|incinta|gravidanza|진단을 받|\
진단받|진단 받|우울증|당뇨|천식|임신|암에 걸|암 진단|암 수술|암 투병|유방암|위암|폐암|백혈병|장애인|발달장애|공황장애|정신과|질병|질환|복용|고혈압|저혈압|알레르기|알러지|항암|수술을 받|심장병|뇌졸중|\
불임|낙태|유산했|중독자|약을 먹고|약을 먹어|診断され|と診断|うつ病|鬱病|糖尿病|妊娠|癌|がん患者|がんに|乳がん|胃がん|肺がん|障害者|発達障害|精神障害|パニック障害|服薬|持病|喘息|アレルギー|高血圧|低血圧|\
手術を受け|心療内科|精神科|通院|入院し|抗がん|不妊|流産|中絶|依存症|薬を飲んで|確診|被诊断|确诊|抑郁症|怀孕|残疾人|哮喘|癌症|高血压|过敏|сахарный диабет|беременна|депрессия|\
рак груди|астма|*itis|*iasis|*fibrosis|sclerosis|cirrhosis|scoliosis|psychosis|thrombosis|tuberculosis|osteoporosis|\
endometri*|*emia|*algia|*plegia|*opathy|*ectomy|pacemaker|stent|insomnia|sleep apn*|tinnitus|vertigo|seizure*|my meds|\
on meds|painkiller*|opioid*|inhaler|a stroke|heart condition|heart failure|arrhythmi*|transplant*&my|kidney disease|\
kidney failure|hernia*|slipped disc|rheumat*|fibromyalg*|lymphom*|melanom*|carcinom*|metasta*|chronic pain|\
chronic fatigue|chronic illness|chronically ill|long covid|ibs|pcos|menopaus*|ivf|sick leave|suffer from|suffers from|\
suffering from|inject myself|injections for|ssri*|sertraline|prozac|ocd|tourette*|dyslexi*|neurodiver*|asperger*|\
blind in|i m blind|i m deaf|am deaf|hearing aid*|prosthe*|amput*|paraly*|thyroid*|eczema|herpes|i have lupus|\
gluten&i can t|leide an|leidet an|leide unter|leidet unter|krankgeschrieben|bandscheib*|herzschritt*|schilddrüse*|\
rheuma*|neurodermitis|schuppenflechte|morbus|*arthrose|osteoporose|sklerose|metastas*|leukämie|demenz*|zuckerkrank*|\
wechseljahre*|in der reha|zur reha|dialyse|am herzen&operiert|chemotherap*|medikament*&nehme|tabletten&nehme|\
tabletten gegen|spritze mir|depressiv*|borderline|zwangsstörung*|essstörung*|magersucht|burnout|schlafstörung*|\
migräne|chronisch krank|chronische schmerzen|pflegegrad|rollstuhl|gehörlos|schwerhörig|hörgerät*|prothese*|herzfehler|\
herzkrank*|hiv positiv|unfruchtbar|suizid*|in therapie|padezco|padece|sufro de|sufre de|sufro&dolor|cardiop*|*patía|\
*ectomía|hernia|de baja por|baja médica|marcapasos|tiroid*|hipotiroid*|artrosis|epileps*|epilép*|demencia|párkinson|\
ictus|derrame cerebral|diálisis|trasplant*|quimio*|radioterapia|leucemia|linfoma|esclerosis|deprim*|esquizofren*|\
trastorno*|tdah|insomnio|silla de ruedas|soy sord*|soy cieg*|embaraz*|menopausia|fecundación|vih|pastillas para|\
me inyecto|insulina|tratamiento para|minusval*|atteint de|atteinte de|atteint d|atteinte d|souffre de|souffre d|*émie|\
*algie|*pathie|sclérose|arthrose|arthrite|polyarthrite|hépatite|ma maladie|maladie chronique|longue maladie|mon psy|\
ma psy|psychiatre|arrêt de travail|arrêt maladie|fausse couche|avortement|ivg|fiv|ménopause|hypertension|\
pour la tension|sous traitement|traitement pour|médicament*&prends|antidépresseur*|anxiolytique*|insuline|diabète|\
asthme|épilep*|tumeur|leucémie|lymphome|chimio*|infarctus|avc|démence|bipolaire|boulimi*|burn out|insomnie|hernie|\
fauteuil roulant|suis sourd*|aveugle|malvoyant*|séropositi*|toxicoman*|alcoolique*|psoriasis|eczéma|thyroïde|앓고|앓았|투병|\
치매|갑상선|저하증|항진증|증이 있어|염이 있어|흡입기|디스크 수술|디스크가 터|재활 중|재활을|협심증|심근경색|뇌경색|뇌전증|간질|간염|투석|루푸스|류마티스|관절염|아토피|건선|편두통|불면증|자폐|조현병|조울|\
양극성|강박증|섭식장애|거식증|폭식증|알코올 중독|자살|휠체어|시각장애|청각장애|보청기|유산을|난임|시험관|폐경|갱년기|수면제|처방받|입원|수술했|에이즈|병가를|を患|患って|てんかん|甲状腺|薬を毎日|潰瘍性|\
大腸炎|クローン病|ヘルニア|休職中|リハビリ|透析|心筋梗塞|脳梗塞|脳卒中|心臓病|不整脈|ペースメーカー|認知症|パーキンソン|リウマチ|膠原病|肝炎|腎臓病|白血病|リンパ腫|腫瘍|放射線治療|アトピー|乾癬|偏頭痛|片頭痛|\
不眠症|睡眠薬|抗うつ|統合失調|双極性|適応障害|自閉|摂食障害|拒食症|過食症|自殺|車椅子|難聴|補聴器|義足|全盲|更年期|体外受精|エイズ|インスリン|処方され|症です|炎です|病です|難病|患有|得了癌|得了病|得了&症|\
得了&痴呆|胰岛素|痴呆|帕金森|心脏手术|心脏病|心梗|脑梗|中风|低血压|每天吃药|服药|化疗|放疗|肿瘤|淋巴瘤|肾移植|肝移植|做了&手术|甲亢|类风湿|关节炎|红斑狼疮|银屑病|癫痫|偏头痛|失眠症|抑郁|焦虑症|双相|躁郁|\
精神分裂|自闭症|多动症|强迫症|厌食|戒毒|自杀|轮椅|助听器|失明|失聪|流产|试管婴儿|不孕|艾滋|乙肝|性病|住院|病假|腰椎间盘|慢性病|syndrom*|síndrome de|증후군|症候群|综合征|pacem*|\
low iron|haematolog*|hematolog*|oncolog*|cardiolog*|neurolog*|alcoholics anonymous|quit drinking|diabétique*|\
riñon*&mal|콩팥|시력을|ダウン症|耳が聞こえ|心脏搭桥|搭桥|künstliches&gelenk|knie&ersetzt",
    ),
    (
        "belief",
        "muslim*|islam*|a christian|i m christian|user is christian|christianity|christian faith|catholic*|protestant|jewish|\
judaism|hindu*|buddhis*|sikh*|atheis*|i m agnostic|an agnostic|mormon*|jehovah*|baptist|evangelical|my religion|\
religious|my faith|faith in god|i pray|we pray|believe in god|believing in god|believe in allah|born again|my church|\
go to church|goes to church|my parish|go to mass|goes to mass|attend mass|mosque|synagogue|ramadan|kosher|halal|\
baptized|baptised|lutheran|pentecostal|quaker|wicca*|pagan|muslimisch|muslim*|katholi*|evangelisch|jüdisch|koscher|\
in die kirche|aus der kirche|kirchenmitglied|konfession*|glaube an gott|mein glaube|gläubig*|buddhismus|\
zum islam konvertiert|zeuge jehovas|zeugin jehovas|bete zu|ich bete|wir beten|musulman*|musulmán*|catholique|juif|\
juive|ma foi|je crois en dieu|pratiquant*|católic*|cristian*|judío|judía|judíos|a misa|a la iglesia|ateo|atea|budis*|\
evangélic*|testigo de jehová|testigos de jehová|fe en dios|mi fe|creo en dios|creer en dios|religios*|기독교|천주교|불교|무슬림|\
이슬람|교회에|성당에 다|절에 다니|종교|무신론|개신교|원불교|여호와의 증인|신앙|세례|하나님을 믿|부처님|신자예|신자입|신도예|힌두교|통일교|キリスト教|仏教|カトリック|プロテスタント|イスラム|ムスリム|宗教|\
信仰|信者|教会に通|教会へ行|教会に行|無神論|創価学会|神道|ヒンドゥー教|洗礼|浄土真宗|浄土宗|日蓮宗|曹洞宗|真言宗|檀家|エホバの証人|ユダヤ教|基督教|天主教|佛教|佛教徒|穆斯林|伊斯兰|信仰|去教堂|无神论|\
мусульман*|православн*|католи*|атеист*|верю в бога|methodist*|presbyterian*|anglican*|episcopal*|orthodox church|\
orthodox christian|shabbat|sabbath|torah|quran|koran|bible study|chapel|the rosary|hajj|umrah|diwali|yom kippur|\
passover|for lent|daily prayers|my prayers|my rabbi|the imam|my imam|my pastor|our pastor|jain|taois*|scientolog*|\
nonbeliever*|raised catholic|in church|to church|holy communion|bar mitzvah|bat mitzvah|my hijab|a hijab|my turban|\
a turban|kippah|ex mormon|ex muslim|lost my faith|moslem*|faste im|freikirch*|russisch orthodox|griechisch orthodox|\
kirche ausgetreten|gottesdienst*|zur messe|in die messe|zur kommunion|getauft|rosenkranz|bete jeden|beten&ich|\
buddhist*|hinduist*|jude|jüdin|judentum|sabbat|schabbat|synagoge|moschee|bin christ|als christ|bin christin|\
agnostiker*|konfessionslos|mormone*|religiös|meine religion|bibelkreis|hauskreis|rezo|rezar|el rosario|budista*|\
ramadán|mezquita|sinagoga|la biblia|bautizad*|bautista|mormón|protestante*|ortodox*|hindú*|agnóstic*|soy ate*|\
mi parroquia|la iglesia&voy|cuaresma|à la messe|la messe|bouddhist*|chrétien*|protestant*|évangélique*|athée*|\
agnostique*|croyant*|en dieu|je prie|mes prières|mosquée|à l église|carême|chabbat|kippa|hindou*|jéhovah|baptisé*|\
ma paroisse|le coran|미사에|미사를|예배|집사예|집사입|권사님이|장로교|교인이|교인입|성당에|교회 다|교회를 다|교회 집사|교회에서 봉사|불자예|불자입|새벽기도|기도해요|기도 모임|성경 공부|\
쿠란|라마단|할랄|무교|십일조|모태신앙|개종|礼拝|お祈り|祈って|聖書|クリスチャン|創価|お寺の檀|念仏|信徒|牧師|神父|ミサに|教会員|ラマダン|ハラル|モスク|天理教|統一教会|無宗教|コーラン|念经|念佛|做礼拜|\
去教会|教会的|信基督|信佛|信教|信主|信奉|基督徒|清真|斋月|受洗|祷告|祈祷|圣经|古兰经|道教|法轮功|无宗教|拜佛|皈依|犹太教|印度教|zeugen jehovas|a nun|a monk|\
believe in any god|monja|monje|pieux|pieuse*|pèlerinage|wallfahrt|pilgerfahrt|nonne|선교사|신학교|お坊さん|お経を|牧师|和尚",
    ),
    (
        "orientation",
        "gay|lesbian*|bisexual*|homosexual*|heterosexual*|transgender*|transsexual*|trans woman|trans man|trans person|queer|\
nonbinary|non binary|asexual|pansexual|aromantic|sexual orientation|gender identity|gender dysphoria|sex life|\
came out as|as bi|i m bi|am bi|my coming out|we are both men|are both men|are both women|i m straight|\
same sex partner|schwul*|lesbisch*|bisexuell*|homosexuell*|asexuell*|pansexuell*|nichtbinär*|trans frau|trans mann|\
transfrau|transmann|geoutet|mein coming out|also bi|bin bi|stehe auf frauen und männer|sexuelle orientierung|\
sexualleben|lesbienne|homosexuel*|orientation sexuelle|personne trans|lesbiana*|bisexual*|mujer trans|hombre trans|\
no binari*|asexual|del armario|orientación sexual|vida sexual|동성애|게이야|게이입|게이다|게이예|게이라|게이인|레즈비언|트랜스젠더|양성애|무성애|범성애|\
성적 지향|성정체성|성 정체성|논바이너리|커밍아웃|퀴어|동성 연인|はゲイ|ゲイです|ゲイだ|ゲイなの|レズビアン|同性愛|両性愛|バイセクシュアル|アセクシュアル|パンセクシュアル|トランスジェンダー|ノンバイナリー|クィア|\
カミングアウト|性的指向|性自認|性同一性|恋愛対象は|同性が好き|同性のパートナー|同性恋|双性恋|跨性别|性取向|出柜|лесбиянк*|бисексуал*|трансгендер*|trans guy|trans girl|\
trans boy|trans masc*|trans fem*|i m trans|am trans|as a trans|genderfluid|gender fluid|genderqueer|agender|enby|\
intersex*|my pronouns|sapphic|demisexual*|polyamor*|on testosterone|on estrogen|top surgery|gender affirming|lgbt*|\
came out to|both of us men|both of us women|my husband and i&two men|bin trans|transgeschlechtlich*|transident*|\
nonbinär*|nicht binär*|intergeschlechtlich*|mein outing|gleichgeschlechtlich*|lesbe|lesben|mann mit einem mann|\
persona trans|soy trans|chica trans|chico trans|género fluido|gays|soy bi|pansexual*|lgtb*|dos hombres|dos mujeres|\
mismo sexo|mi transición|intersexual*|poliamor*|suis homo|suis bi|suis trans|bisexuel*|pansexuel*|asexuel*|\
femme trans|homme trans|non binaire*|même sexe|intersexe|게이이|게이고|게이로|게이로서|트랜스 남|트랜스 여|트랜스남|트랜스여|바이섹|성소수자|성전환|호르몬 치료|\
私はバイ|バイです|バイなの|ゲイで|ゲイの人|ゲイと|同性婚|同性の|トランス女|トランス男|レズ|無性愛|性別移行|性別適合|性的少数|ジェンダー&です|变性|非二元|酷儿|我是拉拉|同性伴侣|同性婚姻|性少数|无性恋|泛性恋|\
assigned female|assigned male|two men&married|two men&partner|two women&married|cambio de sexo|geschlechtsangleichung|\
sex change|ma transition|deux femmes|deux hommes|성별을 바|性別を変|彼女がいます&女性|mon coming out|fait mon coming| 동성 |동성 결혼|\
동성 파트너|동성 커플",
    ),
    (
        "politics",
        "voted for|i voted|always voted|voter|republican*|democrats|registered democrat|conservative party|labour party|\
labour member|communist*|socialist*|anarchist*|liberal party|green party|political party|party member|my political|\
political views|politically|my politics|far left|far right|leftist|campaigned for|canvassed for|i m conservative|\
i m a liberal|gewählt habe|habe gewählt|grünen gewählt|cdu|csu|spd|afd|fdp|die grünen|kommunist*|sozialist*|politisch|\
politische einstellung|politische meinung|wahlkampf*|parteimitglied|parteibuch|in die partei|ai voté|vote à gauche|\
vote à droite|je vote|adhérent au parti|de gauche|de droite|voté por|voté a|votó por|voto por|voto a|he votado|\
he votado a|votante|comunista*|militante|partido popular|psoe|de podemos|de izquierdas|de derechas|ideas políticas|\
ideología|ideología política|candidato socialista|candidata socialista|hice campaña|투표했|투표합|투표해|보수 성향|진보 성향|성향은 보수|\
성향은 진보|정치 성향|정치적|지지 정당|지지자예|지지자입|당원이|당원입|투표함에|국민의힘|민주당|정의당|사회주의자|공산주의자|보수주의|진보주의|후보를 찍|후보를 지지|당을 지지|우파예|좌파예|우파입|좌파입|\
に投票し|支持政党|支持して|自民党|共産党|民主党|公明党|維新の会|党員|右翼|左翼|右派|左派|保守派|リベラル派|社会主義者|共産主義者|政治的に|政治信条|候補者を応援|候補を応援|投票给|政治立场|党员|我支持民主|\
голосовал*|коммунист*|член партии|the greens|tories|tory|lib dem*|snp|ukip|reform uk|gop|a democrat|the democrats|\
libertarian*|maga|voting for|my vote went|cast my ballot|ballot for|card carrying|left leaning|right leaning|marxis*|\
trotsky*|fascis*|anarchis*|monarchist*|pro life|pro choice|party&canvass*|party&leaflets|linkspartei|linke gewählt|\
grüne gewählt|grünen|bsw|övp|spö|fpö|jusos|junge union|ortsrat|ortsverband|stadtrat&sitze|gemeinderat&sitze|antifa|\
linksradikal*|politisch links|politisch rechts|links eingestellt|partido de izquierda*|partido de derecha*|milito|\
voté|voto en blanco|votado|voto&verdes|los verdes|izquierda unida|de izquierda|de derecha|progresista*|socialista*|\
anarquista*|peronista*|independentista*|écologistes|insoumis*|lfi|rassemblement national|front national|\
les républicains|macroniste*|parti socialiste|parti communiste|extrême droite|extrême gauche|un parti de|encarté*|\
milite|militant*|anarchiste*|souverainiste*|votes à|vote&depuis toujours|당원|에 투표했|에게 투표|대선에서|총선에서|보수 정당|진보 정당|여당을|야당을|\
여당에|야당에|녹색당|진보당|개혁신당|選挙&入れ|選挙&投票|野党に|与党に|自民|立憲|国民民主|れいわ|社民党|参政党|政治活動|デモに参加|投给|入党|国民党|民进党|民众党|共产党|共和党|自由派|政见|\
phone banked|concejal|monarquía|sozialdemokratie|freie wähler|freien wählern|élue municipale|élu municipal|mélenchon|\
le pen|촛불 집회|후보 캠프|無所属&選|市議会議員|反政府|老党员|for sanders|for trump|for biden|die linke&wähl*|mitglied der linken|\
linke&parteimitglied",
    ),
    (
        "ethnicity",
        "my ethnic*|ethnicity|ethnic background|african american|i m black|i m white|i am black|i am white|as a black|\
half black|biracial|mixed race|latino|latina|hispanic|indigenous|aboriginal|native american|first nations|romani|\
roma family|kurdish|kurds|uyghur*|i m asian|asian american|half korean|half japanese|half chinese|half german|\
jewish descent|african descent|navajo*|cherokee*|maori|inuit*|i m half|am roma|are roma|immigration status|\
undocumented immigrant|refugee*|asylum seeker|migrationshintergrund|bin schwarz|afrodeutsch*|sinti|sinti und roma|\
kurde|kurdin|kurden|ethnisch*|jüdischer abstammung|abstammung|jüdischer herkunft|kurdischer herkunft|\
türkischer herkunft|arabischer herkunft|afrikanischer herkunft|als schwarzer|als schwarze|schwarzer deutscher|\
schwarze deutsche|halb koreaner*|halb japaner*|halb deutsch*|halb türk*|meine hautfarbe|geflüchtet*|origine ethnique|\
d origine|je suis noir*|métis*|afrodescendient*|gitano|gitana|gitanos|indígena*|mestiz*|mulat*|quechua*|mapuche*|\
de raza|soy negro|soy negra|soy mitad|origen étnico|étnic*|de ascendencia|familia es de origen|padres son de origen|\
soy de origen|인종|민족은|제 민족|소수민족|혼혈|조선족|고려인|다문화 가정|다문화가정|흑인|백인이|이주민|탈북민|위구르|난민 출신|人種|民族|在日|アイヌ|ハーフです|ハーフなの|ハーフとして|日系|黒人|\
白人です|クルド人|ウイグル|混血|移民|難民|部落出身|琉球人|种族|少数民族|混血|维吾尔|我是黑人|pakistani british|british pakistani|british asian|british indian|\
desi|punjabi*|bengali*|tamil*|gujarati*|pashtun*|berber*|amazigh|kabyle*|ashkenazi*|sephardi*|irish traveller*|\
sami people|ojibwe|lakota|choctaw|sioux|mohawk|cree nation|métis|native hawaiian|pacific islander*|han chinese|\
tibetan*|hmong|zulu|yoruba|igbo|hausa|the tribe|my tribe|chicano*|afro caribbean|caribbean descent|asian descent|\
indian descent|chinese descent|mixed descent|my ancestry|my heritage|person of colo*|people of colo*|my skin color|\
my skin colour|black and&i m|black woman|black man|white woman|white man|sorb*|kurdisch*|sinto|romni|bin roma|jüdisch|\
türkische wurzeln|arabische wurzeln|afrikanische wurzeln|polnische wurzeln|russische wurzeln|vietnamesische wurzeln|\
iranische wurzeln|kurdische wurzeln|meine wurzeln|russlanddeutsch*|spätaussiedler*|deutschtürk*|bipoc|jesid*|\
armenischer herkunft|hautfarbe|ethnie|gitan*|afrocolombian*|afrocuban*|afroperuan*|afromexican*|aimara*|guaraní|\
zapotec*|náhuatl|wayuu|bereber*|saharaui*|origen marroquí|de origen&familia|mis raíces|mi etnia|maghréb*|berbère*|\
suis arabe|antillais*|manouche*|tzigane*|rom et|sépharade*|ashkénaze*|kanak*|immigration&issu*|mes origines|중국 동포|\
재중 동포|재일 교포|다문화|새터민|탈북|화교|아시아계|한국계|유대인|쿠르드|先住民|クォーター|琉球|華僑|華人|アジア系|アラブ系|ユダヤ系|ロマの|チベット人|朝鮮族|帰化し|回族|藏族|满族|蒙古族|壮族|苗族|彝族|\
朝鲜族|哈萨克族|土家族|华裔|华侨|亚裔|犹太人|原住民|客家人|族人|filipin*&half|rapanui|donauschwab*|peul*|garífuna|dänischen minderheit|\
minderheit&gehöre|血统|혈통|傣族|侗族|瑶族|白族|黎族|畲族|佤族|コリアン|필리핀 분|のハーフで|のハーフの",
    ),
    (
        "union",
        "trade union|labor union|labour union|teachers union|union member*|union dues|union rep|union representative|\
union organizer|union organiser|union steward|shop steward|my union|our union is|been in the union|i m in the union|\
joined the union|joined a union|organised a union|organized a union|a union at my|unionized|unionised|teamster*|\
afl cio|unite the union|gewerkschaft*|ig metall|ver di|verdi mitglied|dgb|betriebsrat|vertrauensmann|vertrauensfrau|\
syndiqué*|cgt|cfdt|délégué syndical|sindicato*|sindical*|sindicalista*|comisiones obreras|ccoo|ugt|afiliado a|노조|노동조합|\
조합원|조합비|민주노총|한국노총|전교조|労働組合|労組|組合員|組合費|組合の委員|組合の役員|うちの組合|組合活動|組合に入|ユニオンに加入|ユニオンに入|日教組|連合の専従|自治労|工会|профсоюз*|\
union&dues|union&steward|union&secretary|union&elected|union&meeting|union&strike|union local|the local&strike|\
on strike|picket*|unison&steward|usdaw|gmb union|nasuwt|seiu|afscme|uaw|iww|machinists union|works council|\
collective bargaining|steward for|bei verdi|verdi|ig bau|ig bce|personalrat*|vertrauensleute|im streik|streike mit|\
tarifkommission|enlace sindical|delegad* sindical|comité de empresa|estoy en huelga|afiliada a|syndical*|syndiqu*|\
unsa|du personnel&délégu*|représentant*&syndic*|en grève|gréviste*|지부장|금속노조|파업|단체교섭|組合の書記|組合の執行|組合の支部|ストライキ&参加|春闘|\
団体交渉|组织罢工|罢工|union&nurses|union&treasurer|organize our&voted|intersyndicale|fait grève|warnstreik*|노사협의|職場の組合",
    ),
    (
        "biometric",
        "fingerprint data|my fingerprint*|iris scan|scan of my iris|my iris|retina scan|face scan|my face id|faceprint|\
voiceprint|voice print|biometric*|dna test|my dna|dna results|genetic test*|genetic condition|genetic data|\
genetic predisposition|genetic disorder|genetic mutation|brca*|my genome|genome sequenced|23andme|mein fingerabdruck|\
meinen fingerabdruck|meine fingerabdrücke|gentest*|dna test*|erbgut|meine gene|meine dna|meiner dna|mein gesicht|\
genetische veranlagung|genetische erkrankung|genetischer defekt|meiner iris|meine iris|gesichtsscan|gesichtsdaten|\
biometrisch*|mon empreinte|empreintes digitales|test adn|test génétique|huella dactilar|huellas dactilares|\
prueba de adn|mi adn|mi genoma|predisposición genética|prueba genética|test genético|enfermedad genética|mi iris|\
biométric*|reconocimiento facial|유전자 검사|유전자검사|유전자 변이|유전자 정보|유전체|유전병|지문 정보|제 지문|내 지문|홍채|dna 검사|dna 분석|dna 결과|안면 정보|\
안면 인식|안면인식|얼굴 인식|생체 정보|생체정보|생체 인증|정맥 인식|遺伝子検査|遺伝子変異|遺伝性|ゲノム|指紋|虹彩|dna検査|dna鑑定|顔認証|生体認証|生体情報|声紋|静脈認証|基因检测|指纹|人脸识别|虹膜|\
palm print*|palm scan*|palm vein*|handprint*&my|my finger print*|my iris*|my voice sample|gene panel|gene test*|\
mutation&brca*|brca2|brca1|carry the&gene|carrier of&gene|carrier for|genetic carrier|gene for&carry|huntington*&gene|\
ancestrydna|dna sequenced|my exome|face scan*&my|my face data|facial data|face recognition&my face|venenscan|\
handvenenscan|handvenen*|handflächen*|fingerabdrücke|irisscan|netzhaut*&scan*|stimmprobe*|stimmabdruck|stimmprofil|\
gesichtserkennung&mein*|genanalyse|genom*&mein*|gen für|genmutation|mutation&gentest|erbkrankheit|anlageträger*|\
dna analyse|dna profil|mi huella|mis huellas|huella digital|huellas digitales|huellas registradas|análisis genético|\
análisis de adn|mi genética|mutación&tengo|portador* de|portador del gen|portadora del gen|mi retina|\
mi voz&contraseña|empreinte digitale|mes empreintes|mon iris|ma rétine|reconnaissance faciale&mon|mon adn|\
adn&séquencé|analyse génétique|mutation&génétique|mon génome|du gène&port*|biométri*|지문이 등록|지문을 등록|지문으로|지문 인식|보인자|\
유전자 분석|정맥 등록|음성 등록|静脈|顔データ|遺伝病|遺伝子に|保因者|声纹|掌纹|静脉|基因&突变|遗传病|基因组|携带&基因|人脸信息|scans my face|my face&door|\
me tomaron las huellas|brustkrebsgen|gène brca|photo biométrique|얼굴을 등록|유전 상담|遺伝カウンセリング|顔で記録|染色体|염색체|我的脸|\
my retina scan|my retinas",
    ),
    (
        "criminal",
        "convicted|conviction for|criminal record|criminal charge*|arrested|in prison|to prison|prison sentence|in jail|\
county jail|months in jail|years in jail|on parole|on probation|felony|felon|pleaded guilty|plead guilty|found guilty|\
served time|a dui|restraining order|juvenile detention|vorbestraft|verurteilt|im gefängnis|ins gefängnis|in haft|\
untersuchungshaft|festgenommen|verhaftet|auf bewährung|zur bewährung|bewährungsstrafe|strafverfahren|vorstrafe*|\
führungszeugnis|angeklagt|straftat|casier judiciaire|garde à vue|en prison|condenado por|condenada por|me condenaron|\
fui condenad*|antecedentes penales|en prisión|en la cárcel|a la cárcel|me detuvieron|me arrestaron|\
libertad condicional|declaré culpable|delito*|전과가 있|전과자|전과 기록|체포|교도소|구치소|집행유예|유죄|형을 살|수감|구속됐|구속되|처벌받|처벌을 받|벌금형|실형|\
보호관찰|기소|前科が|前科者|前科持|逮捕|刑務所|服役|拘置所|執行猶予|有罪|検挙|保護観察|起訴|書類送検|罰金刑|犯罪歴|少年院|犯罪记录|坐牢|被捕|判刑|судим*|арестован*|в тюрьме|\
burglary&months|burglary&years|theft&months|theft&years|shoplifting&caught|embezzl*&convict*|manslaughter|misdemeano*|\
suspended sentence|sentenced to|did time|did&months for|did&years for|behind bars|incarcerat*|ex con|ex convict|\
in and out of jail|out of jail|out of prison|on bail|drunk driving|dwi|rap sheet|ankle monitor|juvie|juvenile record|\
record expunged|plea deal|probation officer|sex offender|indicted|acquitted|drug charge*|assault charge*|knast|\
haftstrafe|freiheitsstrafe|jugendarrest|jugendstrafe|bewährung&jahre|ermittlungsverfahren|strafbefehl|geldstrafe|\
anklage gegen|wegen betrugs|wegen diebstahls|wegen körperverletzung|fußfessel|haftentlass*|straftat*|u haft|\
sozialstunden|estuve preso|estuve presa|antecedentes por|cumplí condena|fui detenid*|libertad provisional|\
libertad vigilada|bajo fianza|imputad*|procesad* por|ans de prison|mois de prison|sorti de prison|sortie de prison|\
incarcéré*|été condamné*|un casier|bracelet électronique|avec sursis|mis en examen|mise en examen|\
liberté conditionnelle|contrôle judiciaire|징역|음주운전|벌금을 냈|벌금을 물|소년원|재판을 받|범죄 경력|전자발찌|懲役|受刑|窃盗で|詐欺で|傷害で|飲酒運転で|保釈|出所し|\
坐过&牢|判过|被判刑|被判了|缓刑|拘留|服刑|刑满|假释|案底|酒驾|吸毒|locked up|orden de alejamiento|au poste&nuit|rappel à la loi|절도로|처분을 받|万引き|\
訴えられ|被关过|führerschein&saß|conduciendo borracho|犯罪前科|有前科|に前科|に前科が|には前科",
    ),
];

/// The special category that a text plainly tells of, where its name is not among `allowed`: one of
/// [`sensitive_categories`].
#[must_use]
pub fn sensitive_category(text: &str, allowed: &[String]) -> Option<&'static str> {
    let padded = padded(text);
    let is_told = |form: &str| form.split('&').all(|word| tells(&padded, word));
    SENSITIVE
        .iter()
        .filter(|(name, _)| !is_among(name, allowed))
        .find(|(_, forms)| forms.split('|').any(is_told))
        .map(|(name, _)| *name)
}

/// Whether a text, or the category that it was put in, is of this special category.
#[must_use]
pub fn is_of_category(texts: &[&str], category: &str, name: &str) -> bool {
    let others: Vec<String> = sensitive_categories().filter(|other| *other != name).map(str::to_owned).collect();
    category.eq_ignore_ascii_case(name) || texts.iter().any(|text| sensitive_category(text, &others).is_some())
}

/// The names of the special categories: `health`, `belief`, `orientation`, `politics`, `ethnicity`, `union`, `biometric`,
/// `criminal`.
pub fn sensitive_categories() -> impl Iterator<Item = &'static str> {
    SENSITIVE.iter().map(|(name, _)| *name)
}

/// The text without the sentences that tell of a special category that is not among `allowed`.
#[must_use]
pub fn without_sensitive<'a>(text: &'a str, allowed: &[String]) -> Cow<'a, str> {
    if sensitive_category(text, allowed).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for sentence in text.split_inclusive(['.', '!', '?', '\n', '。', '！', '？', ';']) {
        match sensitive_category(sentence, allowed) {
            None => out.push_str(sentence),
            Some(_) => out.push_str(if sentence.ends_with('\n') { "[...]\n" } else { "[...] " }),
        }
    }
    // What only several sentences together tell is left out whole.
    if sensitive_category(&out, allowed).is_some() { Cow::Borrowed("") } else { Cow::Owned(out) }
}

fn is_among(name: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

/// A text in normalised form, with a space at either end.
pub(super) fn padded(text: &str) -> String {
    format!(" {} ", normalized(text))
}

/// Whether a text as [`padded`] gives it tells of a word or phrase of a list, which stand between `|`.
pub(super) fn tells_any(padded: &str, list: &str) -> bool {
    list.split('|').any(|word| tells(padded, word))
}

/// Whether it tells of one of them (their forms: [`SENSITIVE`], but for `&`).
pub(super) fn tells(padded: &str, word: &str) -> bool {
    let stands_alone = word.chars().all(|c| u32::from(c) < 0x0600);
    if let Some(end) = word.strip_prefix('*') {
        return padded.contains(&format!("{end} "));
    }
    match word.strip_suffix('*') {
        Some(beginning) => padded.contains(&format!(" {beginning}")),
        None if stands_alone => padded.contains(&format!(" {word} ")),
        None => padded.contains(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_categories_need_opt_in() {
        for (text, category) in [
            ("I was diagnosed with asthma", "health"),
            ("I'm gay", "orientation"),
            ("I voted for them", "politics"),
            ("User is Muslim", "belief"),
            ("I am a union member", "union"),
            ("うつ病と診断されました", "health"),
        ] {
            assert_eq!(sensitive_category(text, &[]), Some(category), "{text}");
            assert_eq!(sensitive_category(text, &[category.to_owned()]), None, "{text}");
            assert!(is_of_category(&[text], "preference", category));
            assert!(!is_of_category(&["User likes tea", text], "identity", "criminal"));
        }
        assert!(is_of_category(&[], "Health", "health"));
    }

    #[test]
    fn only_the_sentences_that_tell_go() {
        let text = "I like tea. I was diagnosed with asthma! Call me Alex.\nI'm gay\nI use pnpm";
        assert_eq!(without_sensitive(text, &[]), "I like tea.[...]  Call me Alex.\n[...]\nI use pnpm");
        let allowed = ["health".to_owned(), "orientation".to_owned()];
        assert!(matches!(without_sensitive(text, &allowed), Cow::Borrowed(_)));
        assert_eq!(without_sensitive("My blood\npressure is fine", &[]), "");
    }
}
