"""Templates of titles by topic, with placeholders for random words; see `phrases`."""

from __future__ import annotations

HEADLINES: dict[str, tuple[str, ...]] = {
    "town": (
        "{Name} wants new {things} for {street}", "Ferry stays in port: {weather}",
        "Thieves take {things} from {place}",
        "{street}: residents call plan {opinion}", "{many} people at {place}", "What becomes of {place}?",
        "Fire brigade at {street}", "{Name} retires after {few} decades", "Traders of {street} look back on {month}",
        "Tide reaches {place}", "Town hall answers {name}", "New life for {place}",
    ),
    "council": (
        "Council puts off decision on {place}", "Budget: more for {things}", "Councillors quarrel over {street}",
        "{Name} leaves the council", "Fees for {things} to rise in {month}", "Petition for {street} handed over",
    ),
    "streets": (
        "Roadworks in {street} until {month}", "Bus stops move from {street} to {street}", "Detour past {place}",
        "Burst main in {street}", "{many} lorries a day in {street}",
    ),
    "culture": (
        "'{book}' on stage in {month}", "{Name} reads from '{book}'", "Music from {city} at the abbey",
        "Harbour scenes by {name}", "An evening with {name}", "The choir sings at {place}",
    ),
    "sport": (
        "Late goal against {city}", "Beacon race goes to {name}", "Derby ends in {weather}", "Wickets fall at {place}",
        "Second team travels to {city}", "Coach of the eleven: {opinion}",
    ),
    "weather": (
        "{month} brings {weather}", "Spring tide at {place}", "As dry as in {year}", "Outlook: {weather} by {weekday}",
    ),
    "rowing": (
        "{boat} wins in {weather}", "Crew beats {city}", "New oars, old {boat}", "A record for {name}",
        "Head of the river from {place}",
    ),
    "kitchen": ("{Dish}", "{Dish}, slowly", "{Dish} for {few}", "What to do with {plant}", "{Dish} after {weather}"),
    "birds": (
        "A {bird} at {place}", "{Few} {bird} in {weather}", "First {bird} of the year", "Count: {bird} and {bird}",
        "Evening at the hide: {bird}",
    ),
    "garden": ("{Plant} in {month}", "The year of the {plant}", "Slugs, {weather} and {plant}", "{Plant} from {name}"),
    "stars": ("A night with {sight}", "{Sight} over {place}", "Dome open in {weather}", "Measuring {sight}"),
    "school": (
        "Class trip to {place}", "Chess club beats {city}", "Garden day: {plant}", "Visitors from {city}",
        "Science fair: {things}", "The choir in {month}",
    ),
    "nation": (
        "Ministers part without agreement", "Strike stops trains to {city}", "Prices calmer in {month}",
        "Court adjourns until {month}", "Hospitals to hire {many} nurses", "'{book}' conquers {city}",
        "Storm cuts power in {few} counties", "{Name} expects a calmer {month}",
    ),
    "travel": (
        "By night train to {city}", "{city} in {month}", "{Few} days on the coast", "Where to eat {dish}",
        "Ferries, inns and {weather}", "A weekend in {city}",
    ),
    "lexicon": (
        "Tide mills of {city}", "History of the {object}", "School of {city}", "Flood of {year}", "{Name}",
        "Coastal shipping in {year}", "The {bird} in heraldry",
    ),
    "engineering": (
        "The viaduct near {city}", "Cast iron in {year}", "Excursion to {city}", "A swing bridge of {year}",
        "How {name} tested his girders", "Lock gates of {city}",
    ),
    "visit-de": ("Wanderung von {city} zur Küste", "Etappe {few}: am Wasser entlang", "Rund um {city}"),
    "visit-fr": ("Carnet de {city}", "Deux jours à {city}", "Sur la route de {city}, {year}"),
    "market": (
        "For sale: {object}", "Wanted: {few} {things}", "{Plant}, fresh", "Dinghy 'The {boat}', sound",
        "Lessons with {name}", "To let: room in {street}", "Found near {place}: {object}", "Giving away {plant}",
    ),
}  # fmt: skip
