"""Hosts, and the pages on them that other hosts link to."""

from __future__ import annotations

TOWN = "quillhaven.localhost"

HALL, COURIER, LIBRARY, SCHOOL, ROWING, MUSEUM, MARKET, VISIT, STARS, KITCHEN, BIRDS, GARDEN = (
    f"{name}.{TOWN}"
    for name in (
        "www", "courier", "library", "school", "rowing", "museum", "market", "visit", "stars", "kitchen", "birds",
        "garden",
    )
)  # fmt: skip

MERIDIAN = "dailymeridian.localhost"  # a national newspaper
WAYFARER = "wayfarer.localhost"  # a travel guide
LEXICON = "openlexicon.localhost"  # an encyclopedia
BRIDGES = "bridgespotters.localhost"  # a society of engineers
SKY = "skywatchers.localhost"
LEAGUE = "rowingleague.localhost"
CHEESE = "cheesepages.localhost"
ATLAS = "birdatlas.localhost"
WANDERN = "wanderwege.localhost"  # hiking, in German
CARNET = "carnetderoute.localhost"  # travels, in French


def at(host: str, path: str = "/") -> str:
    return f"http://{host}{path}"


HOME = at(HALL)
HALL_HOURS = at(HALL, "/opening-hours")
CAR_PARK = at(HALL, "/parking/bridge-street")
CLOSURES = at(HALL, "/lantern-festival")

# Pages with many in-links from external sites, but few from the town.
IRON_BRIDGE = at(MUSEUM, "/iron-bridge")
DOME = at(STARS, "/opening-hours")
LANTERNS = at(VISIT, "/en/lantern-festival")
BLUE_CHEESE = at(KITCHEN, "/quillhaven-blue")
SPOONBILLS = at(BIRDS, "/spoonbills")

TOWN_PAGES = {
    host: at(host, "/quillhaven") for host in (MERIDIAN, WAYFARER, LEXICON, BRIDGES, SKY, LEAGUE, CHEESE, ATLAS)
} | {WANDERN: at(WANDERN, "/quillhaven-rundweg"), CARNET: at(CARNET, "/quillhaven-en-automne")}
