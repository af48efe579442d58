"""A page in each of many languages is found by other forms of its words, and by a pasted sentence."""

from __future__ import annotations

import pytest

from orienteer.search.indexing import update_index
from orienteer.search.query import parse
from orienteer.search.search_index import SearchIndex
from orienteer.search.snippet import Marker
from orienteer.search.words import folded, normalized, stemmer_of, words_of
from tests.search.small_webs import HandmadeCrawl, page
from tests.tables import over_rows

# By language: a title, a text, and queries that must find it.
SAMPLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "ar": (
        "المكتبة العامة",
        "يقرأ الطلاب الكِتَاب في المكتبة كل يوم. والقراءة مفيدة للطالب.",
        ("كتاب", "الكتاب", "مكتبة", "بالكتاب"),
    ),
    "de": (
        "Die Bücherei",
        "In der Straße steht eine große Bücherei, in der Kinder lesen.",
        ("bucherei", "grosse strasse", "KIND"),
    ),
    "el": (
        "Η βιβλιοθήκη",
        "Οι μαθητές διαβάζουν βιβλία στη βιβλιοθήκη της οδού Ερμού.",
        ("ΒΙΒΛΙΟΘΗΚΗ", "βιβλιοθηκης", "μαθητης", "ΟΔΟΣ"),
    ),
    "en": (
        "The library",
        "Children are reading in the reading rooms of the town.",
        ("libraries", "child reads", "room"),
    ),
    "fa": ("کتابخانه", "دانش‌آموزان در كتابخانه روی كاغذ می‌نویسند.", ("کاغذ", "دانشآموزان", "كتابخانه")),
    "fr": ("La bibliothèque", "Les élèves étudient à la bibliothèque de l’école.", ("eleve", "bibliotheques", "ÉCOLE")),
    "he": (
        "הספרייה העירונית",
        "התלמידים קוראים בַּסֵּפֶר בספרייה של צה״ל.",
        ("ספרייה", "ספר", "תלמידים", 'צה"ל', "לספרייה"),
    ),
    "hi": ("सार्वजनिक पुस्तकालय", "विद्यार्थी हिन्दी में पुस्तकें पढ़ते हैं और लड़का लिखता है।", ("हिंदी", "पुस्तकालय", "विद्यार्थी", "लड़का")),
    "ja": (
        "公立図書館",
        "学生たちは図書館で日本語の本を読みます。開館時間は九時です。",
        ("図書館", "日本語", "図書館の開館時間"),
    ),
    "km": ("បណ្ណាល័យ", "សិស្សអានសៀវភៅនៅក្នុងបណ្ណាល័យ។", ("សៀវភៅ", "បណ្ណាល័យ")),
    "ko": (
        "시립 도서관",
        "학생들이 도서관에서 책을 읽습니다. 대학교는 멀리 있습니다.",
        ("도서관", "도서관은", "학생", "대학교의 도서관"),
    ),
    "pl": ("Biblioteka", "Żółta łódź stoi przed biblioteką w Łodzi.", ("zolta lodz", "ŁÓDŹ")),
    "ru": (
        "Городская библиотека",
        "Дети читают книги, а перед библиотекой растёт ёлка.",
        ("библиотеки", "елка", "КНИГА"),
    ),
    "ta": ("நூலகம்", "மாணவர்கள் தமிழ்நாட்டில் புத்தகங்கள் படிக்கிறார்கள்.", ("மாணவர்கள்", "நூலகம்", "புத்தகங்கள்")),
    "th": ("ห้องสมุดประชาชน", "นักเรียนอ่านหนังสือในห้องสมุดทุกวัน", ("ห้องสมุด", "นักเรียน", "หนังสือ")),
    "tr": (
        "Şehir kütüphanesi",
        "Isparta’daki kadınlar İstanbul’da kütüphaneden kitaplar aldı.",
        ("KÜTÜPHANE", "kütüphanede", "istanbul", "ISPARTA", "kadın", "KADIN"),
    ),
    "vi": (
        "Thư viện",
        "Học sinh đọc sách tiếng Việt ở thư viện trên đường lớn.",
        ("thu vien", "tiếng Việt", "tie\u0302\u0301ng Việt", "Đường"),
    ),
    "zh": (
        "北京大学图书馆",
        "学生在图书馆里看书。图书馆每天八点开放，星期日也开放。",
        ("图书馆", "北京大学", "图书馆开放时间"),
    ),
}


def url(language: str) -> str:
    return f"http://{language}.test/"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("languages") / "crawl")
    for language, (title, text, _) in SAMPLES.items():
        crawl.add({url(language): page(title, text)}, language=language)
    update_index(crawl.path, processes=1)
    return SearchIndex.open(crawl.path)


QUERIES_BY_LANGUAGE = [(language, words) for language, (_, _, queries) in SAMPLES.items() for words in queries]


@over_rows(("language", "words"), QUERIES_BY_LANGUAGE)
def test_a_page_is_found_by_its_words(index: SearchIndex, language: str, words: str) -> None:
    assert [hit.url for hit in index.search(words).hits][:1] == [url(language)]


@over_rows("language", SAMPLES)
def test_a_page_is_found_by_a_sentence_and_the_words_are_marked(index: SearchIndex, language: str) -> None:
    results = index.search(SAMPLES[language][1])
    assert [hit.url for hit in results.hits][:1] == [url(language)]
    assert len(results.hits[0].segments) > 1


@over_rows(
    ("language", "words", "marked"),
    [
        ("ko", "도서관은", "도서관"),
        ("ja", "図書館", "図書館"),
        ("zh", "图书馆开放时间", "开放"),
        ("ar", "كتاب", "الكتاب"),
        ("he", "ספר", "לספר"),
        ("el", "αλλα", "άλλα"),
        ("hi", "हिन्दी", "हिन्दी"),
        ("tr", "KADIN", "kadınlar"),
    ],
)
def test_words_are_marked_in_any_script(language: str, words: str, marked: str) -> None:
    found = Marker(parse(words), stemmer_of(language)).snippet(f"– {marked} –")
    assert found.segments == ("– ", marked, " –")


def test_a_word_with_an_empty_stem() -> None:
    assert words_of("όταν", "el") == ("",)
    assert Marker(parse("όταν ρυθμίσεις"), "el").snippet("– όταν – ρυθμίσεις").segments[1::2] == ("ρυθμίσεις",)


def test_spellings_of_a_word_are_unified() -> None:
    for stemmer, same in {
        "plain": ("ΟΔΟΣ οδός ὁδός", "شَيْء شيء", "e\u0301te \u00e9te", "ｆｕｌｌ full", "\u202b\u200fשלום\u202c שָׁלוֹם"),
        "tr": ("IŞIK ışık", "İYİ iyi"),
        "ru": ("ЁЛКА елка",),
    }.items():
        for text in same:
            assert len(set(words_of(text, stemmer))) == 1, text


def test_a_sign_of_a_script_without_spaces_is_a_word() -> None:
    assert words_of("人々 コーヒー", "plain") == ("人", "々", "コ", "ー", "ヒ", "ー")
    assert words_of("도서관에서", "plain") == tuple("도서관에서")
    assert words_of("นํ้า น้ำ", "plain")[:2] == words_of("น้ำ", "plain")
    assert normalized("soft\u00adhy\u200cphen") == "softhyphen"


def test_folding_keeps_the_length() -> None:
    for _, text, _ in SAMPLES.values():
        assert len(folded(text)) == len(text)
