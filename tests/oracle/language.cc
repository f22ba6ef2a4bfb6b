#include "oracle/language.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace doppel::oracle {
namespace {

constexpr size_t kWords = 30'000;      // of a vocabulary of words
constexpr size_t kCharacters = 2'500;  // of a vocabulary of characters

// The parts of a language. Lists are separated by single spaces.
struct Recipe {
  bool spaced;
  const char* common;  // the head of the vocabulary, most frequent first
  const char* onsets;  // the tail: one to four times onset + nucleus + coda
  const char* nuclei;
  const char* codas;  // '-': nothing
  const char* comma;
  const char* stop;
  const char* open;
  const char* close;
};

constexpr Recipe kRecipes[kLanguages] = {
    {true,
     "the of and to in a is that for it was on with as his he be at by had not are but from or have an they "
     "which one you were her all she there would their we him been has when who will more no if out so said "
     "what up its about into than them can only other new some could time these two may then do first any my "
     "now such like our over man me even most made after also did many before must through back years where "
     "much your way well down should because each just those people how too little state good very make "
     "world "
     "still own see men work long get here between both life being under never day same another know while "
     "last might us great old year off come since against go came right used take three government company "
     "police minister market city report public president school country million percent group week house "
     "water power night health court party office member service number system program question during",
     "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sk sl sp st str t th tr v w",
     "a e i o u a e i o u ai ea ee ie oa oo ou ia io", "- - - - n r l s t m d ck nd nt rd st ng ll ss ty",
     ",", ".", "\"", "\""},
    {true,
     "le de un être et à il avoir ne je son que se qui ce dans en du elle au pour pas vous par sur faire "
     "plus "
     "dire me on mon lui nous comme mais pouvoir avec tout y aller voir bien où sans tu ou leur homme si "
     "deux "
     "mari moi vouloir te femme venir quand grand celui notre devoir là jour prendre même votre tout rien "
     "petit "
     "encore aussi quelque dont tel été année État société élève après très façon français garçon où déjà "
     "œuvre",
     "b br c ch cr d f fr g gr j l m n p pl pr qu r s t tr v", "a e é è ê i î o ô u û ai eau ou oi eu ie",
     "- - - r l s t n nt ge ment tion ée eux", ",", ".", "« ", " »"},
    {true,
     "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus "
     "er "
     "hat daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber "
     "vor zur "
     "bis mehr durch man sein wurde sei größe straße weiß müssen können würde während außerdem heißt gemäß",
     "b br d dr f fl g gr h k kl l m n p pf r s sch sp st t tr v w z", "a ä e i o ö u ü ei au eu ie",
     "- - n r l s t ß ng nd cht ung keit lich en er", ",", ".", "„", "“"},
    {true,
     "và của là có được cho không một những các trong với người này đã khi đến để từ cũng như về ra nhiều "
     "năm "
     "sẽ vào nước làm ở phải ông theo đó trên việc tại sau thì nhà hai công nhân chính quốc hội thành phố",
     "b c ch d đ g gi h kh l m n ng nh ph qu r s t th tr v x",
     "a à á ả ã ạ ắ ặ ấ ầ ậ e ẻ ế ệ ề i í ị o ó ọ ố ộ ờ ợ u ú ụ ứ ự ữ y ỳ", "- - n ng nh m t c p i", ",", ".",
     "“", "”"},
    {true,
     "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой что весь год от "
     "так "
     "о для ты же все тот мочь вы человек такой его сказать только или ещё бы себя один как уже до время "
     "если "
     "сам когда другой вот говорить наш мой знать стать при чтобы дело жизнь кто первый очень два день её "
     "новый",
     "б в г д ж з к л м н п р с т ф х ц ч ш щ ст пр тр", "а е ё и о у ы э ю я ий ой",
     "- - - н т л р ть ся м х в ский", ",", ".", "«", "»"},
    {true,
     "και το να η της ο του την με για που τα από τους στην είναι των θα στο οι δεν τον στη αυτό κατά μας "
     "πως "
     "ή ένα μία όμως χρόνια κυβέρνηση λόγος άνθρωπος κόσμος νόμος πρόεδρος χώρας πόλης μέρος τρόπος",
     "β γ δ ζ θ κ λ μ ν ξ π ρ σ τ φ χ ψ στ πρ", "α ά ε έ η ή ι ί ο ό υ ύ ω ώ ου αι ει",
     "- - ν ς ρ λ μα ση της", ",", ".", "«", "»"},
    {true,
     "في من على أن إلى التي عن الذي هذا مع هذه لا ما كان بعد كل لم قد بين قال ذلك وقد كما أو خلال حيث عام "
     "يوم وكان غير كانت الحكومة الرئيس المدينة الشركة السوق الشرطة مليون تقرير الجمعة مُحَمَّد رَئِيس",
     "ا ب ت ث ج ح خ د ذ ر ز س ش ص ض ط ع غ ف ق ك ل م ن ه و ي ال ال", "ا و ي - - َ ِ", "- ن ر ل م ة ب ت د ين ات",
     "،", ".", "«", "»"},
    {true,
     "के में की है और से का को पर यह ने कि एक इस नहीं ही हैं कर भी हो तो था लिए गया किया साथ अपने दिया कहा "
     "वह बाद तक जो जा रहा थी कुछ बात सरकार मंत्री देश लोग दिन समय काम राज्य पुलिस शहर क़ानून ज़िला फ़ैसला",
     "क ख ग घ च ज झ ट ड त थ द ध न प फ ब भ म य र ल व श ष स ह क्ष प्र त्र", "ा ि ी ु ू े ै ो ौ - - ं", "- - न र ल त क्त",
     ",", "।", "“", "”"},
    {true,
     "그 이 수 것 있다 하다 등 년 한 위해 대한 지난 있는 말했다 통해 정부 대통령 경찰 회사 시장 도시 사람 "
     "오늘 "
     "그러나 그리고 때문에 대해 따르면 것으로 밝혔다 우리 다른 많은 모든 새로운",
     "가 나 다 라 마 바 사 아 자 차 카 타 파 하 고 노 도 로 모 보 소 오 조 국 민 정 경 한",
     "각 난 달 람 빛 산 앞 잘 총 - - -", "은 는 이 가 을 를 에 의 도 - -", ",", ".", "‘", "’"},
    {false,
     "的 一 是 不 了 在 人 有 我 他 这 个 们 中 来 上 大 为 和 国 地 到 以 说 时 要 就 出 会 可 也 你 对 生 "
     "能 而 子 那 得 于 着 下 自 之 年 过 发 后 作 里 用 道 行 所 然 "
     "家 种 事 成 方 多 经 么 去 法 学 如 都 同 现 当 没 动 面 起 看 定 天 分 还 进 好 小 部 其 些 主 样 理 "
     "心 她 本 前 开 但 因 只 从 想 实 日 军 者 意 无 力 它 与 长 把 "
     "机 十 民 第 公 此 已 工 使 情 明 性 知 全 三 又 关 点 正 业 外 将 两 高 间 由 问 很 最 重 并 物 手 应 "
     "战 向 头 文 体 政 美 相 见 被 利 什 二 等 产 或 新 己 制 身 果",
     "", "", "", "，", "。", "“", "”"},
    {false,
     "の に は を た が で て と し れ さ ある い る も な 、 日 本 人 年 大 国 会 中 出 行 時 こ そ あ か "
     "ら き く け せ ま め や よ り わ ん ガ ド ラ ン ス ト ル ー ア イ ク "
     "リ シ タ プ パ ブ ジ グ ダ 東 京 都 市 政 府 社 長 新 聞 発 表 経 済 学 生 活 動 車 電 力 水 山 川 県 "
     "町 村 警 察 ぎ ぐ げ ご ざ じ ず ぜ ど で ば び ぶ べ ぼ ぱ ぴ ょ ゅ っ",
     "", "", "", "、", "。", "「", "」"},
    {false,
     "ก ร น า อ เ ง ม ย ล ว ด ท ส ต ะ ป บ ค ห แ จ พ ช ข ไ โ ใ ถ ณ ศ ธ ซ ผ ภ กี่ นี้ ที่ ได้ ไม่ ให้ ว่า มี ไป จะ ว่ คำ "
     "น้ำ ปี สั่ ก็ บั รุ ผู้ ฟุ้ ดู ลื มื ชื่ สิ่ ปื",
     "", "", "", " ", " ", "“", "”"},
};

constexpr const char* kNames[] = {"Anna",     "Zoë",      "Marek",   "O'Neill",  "Smith",  "García",
                                  "Müller",   "Tanaka",   "Okafor",  "Singh",    "Łukasz", "Nguyen",
                                  "Silva",    "Ivanova",  "Haddad",  "Kim",      "Björn",  "Renée",
                                  "Jean-Luc", "McArthur", "D'Souza", "Kowalski", "Brontë", "Ångström"};
constexpr const char* kPhrases[] = {"according to a statement released on",
                                    "the company said in a statement that",
                                    "at the end of the day it was",
                                    "for the first time since the start of",
                                    "told reporters on the sidelines of the",
                                    "is expected to take place later this",
                                    "did not immediately respond to a request for comment",
                                    "as soon as possible in the course of the",
                                    "on condition of anonymity because they were not",
                                    "in the second quarter of the fiscal year"};
constexpr const char* kMonths[] = {"January", "March",  "April",   "May",
                                   "July",    "August", "October", "December"};

std::vector<std::string> words_of(const char* list) {
  std::vector<std::string> words;
  std::string_view rest = list;
  while (!rest.empty()) {
    size_t end = std::min(rest.find(' '), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (std::string& word : words) {
    if (word == "-") word.clear();
  }
  return words;
}

void append_utf8(uint32_t c, std::string& out) {  // from the BMP, above U+07FF
  out.push_back(static_cast<char>(0xe0 | (c >> 12)));
  out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
  out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
}

std::vector<std::string> make_vocabulary(Language language) {
  const Recipe& recipe = kRecipes[static_cast<int>(language)];
  std::vector<std::string> words = words_of(recipe.common);
  Random random(0x766f6361, static_cast<uint64_t>(language));
  if (language == Language::chinese || language == Language::japanese) {
    while (words.size() < kCharacters)
      append_utf8(static_cast<uint32_t>(random.between(0x4e00, 0x9fa5)), words.emplace_back());
  } else if (recipe.spaced) {
    std::vector<std::string> onsets = words_of(recipe.onsets), nuclei = words_of(recipe.nuclei),
                             codas = words_of(recipe.codas);
    while (words.size() < kWords) {
      std::string& word = words.emplace_back();
      for (uint64_t n = random.between(1, 3); n > 0; --n)
        word += random.pick(onsets) + random.pick(nuclei) + random.pick(codas);
    }
  }
  return words;
}

const std::vector<std::string>& vocabulary(Language language) {
  static const std::array<std::vector<std::string>, kLanguages> all = [] {
    std::array<std::vector<std::string>, kLanguages> made;
    for (int i = 0; i < kLanguages; ++i) made[i] = make_vocabulary(static_cast<Language>(i));
    return made;
  }();
  return all[static_cast<int>(language)];
}

std::string number(Random& random) {
  std::string digits = std::to_string(random.between(1, 999));
  switch (random.below(5)) {
    case 0:
      return digits + "," + std::to_string(random.between(100, 999));
    case 1:
      return digits + "." + std::to_string(random.below(100));
    case 2:
      return std::to_string(random.between(1950, 2026));
    case 3:
      return digits + "%";
    default:
      return digits;
  }
}

void capitalise(std::string& word) {
  if (!word.empty() && word[0] >= 'a' && word[0] <= 'z') word[0] = static_cast<char>(word[0] - 'a' + 'A');
}

void add_words(const char* words, Units& out) {
  for (std::string& word : words_of(words)) out.push_back(std::move(word));
}

void write_sentence(Language language, Random& random, Units& out) {
  const Recipe& recipe = kRecipes[static_cast<int>(language)];
  size_t begin = out.size();
  size_t length = recipe.spaced ? random.between(6, 28) : random.between(10, 60);
  bool quoted = random.chance(0.08);
  while (out.size() - begin < length) {
    double what = random.unit();
    if (what < 0.02) {
      out.push_back(number(random));
    } else if (what < 0.03) {
      out.push_back(random.pick(kNames, std::size(kNames)));
      if (recipe.spaced) out.push_back(random.pick(kNames, std::size(kNames)));
    } else if (what < 0.035 && language == Language::english) {
      add_words(random.pick(kPhrases, std::size(kPhrases)), out);
    } else if (what < 0.04 && recipe.spaced) {
      out.push_back(std::to_string(random.between(1, 31)));
      out.push_back(random.pick(kMonths, std::size(kMonths)));
      out.push_back(std::to_string(random.between(1990, 2026)));
    } else {
      out.push_back(random_word(language, random));
      if (what > 0.93) out.back() += recipe.comma;
      if (what > 0.50 && what < 0.505 && recipe.spaced) out.back() += "-" + random_word(language, random);
    }
  }
  capitalise(out[begin]);
  if (quoted) out[begin].insert(0, recipe.open);
  out.back() += random.chance(0.05) && language != Language::thai ? "?" : recipe.stop;
  if (quoted) out.back() += recipe.close;
  if (random.chance(0.2)) out.back() += random.chance(0.5) ? "\n\n" : "\n";
}

}  // namespace

bool spaced(Language language) { return kRecipes[static_cast<int>(language)].spaced; }

const std::string& random_word(Language language, Random& random) {
  const std::vector<std::string>& words = vocabulary(language);
  // Zipf: the word of rank n has a probability of about 1/n.
  auto rank = static_cast<size_t>(std::exp(random.unit() * std::log(static_cast<double>(words.size())))) - 1;
  return words[std::min(rank, words.size() - 1)];
}

void write_text(Language language, size_t count, Random& random, Units& out) {
  while (out.size() < count) write_sentence(language, random, out);
  out.resize(count);
}

std::string join(Language language, const Units& units) {
  std::string text;
  size_t bytes = units.size();
  for (const std::string& unit : units) bytes += unit.size();
  text.reserve(bytes);
  bool space = spaced(language);
  for (size_t i = 0; i < units.size(); ++i) {
    if (space && i > 0 && !text.ends_with('\n')) text.push_back(' ');
    text += units[i];
  }
  return text;
}

Units split(Language language, std::string_view text) {
  Units units;
  bool space = spaced(language);
  bool open = false;  // the last unit continues
  for (size_t i = 0; i < text.size();) {
    size_t n = 1;
    while (i + n < text.size() && (text[i + n] & 0xc0) == 0x80) ++n;
    std::string_view c = text.substr(i, n);
    i += n;
    if (space && c == " ") {
      open = false;
      continue;
    }
    // Without spaces, only letters above ASCII stand alone; Latin words and numbers stay whole.
    bool alone = !space && n >= 3;
    bool more_line_feeds = c == "\n" && !units.empty() && units.back().ends_with('\n');
    if ((open && !alone) || more_line_feeds) {
      units.back() += c;
    } else {
      units.emplace_back(c);
    }
    open = !alone && c != "\n";
  }
  return units;
}

}  // namespace doppel::oracle
