//! What one contact record says: fields of labelled text, before anybody lays them out.

use super::addresses::Piece;
use kbest_core::random::Random;

/// Fields in their usual order.
#[derive(Debug, Clone, Default)]
pub(super) struct Contact {
    pub(super) fields: Vec<Vec<Piece>>,
}

/// Draws from a list.
pub(super) trait Draw {
    fn draw<'a>(&mut self, list: &[&'a str]) -> &'a str;
}

impl Draw for Random {
    fn draw<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.low(list.len())]
    }
}

const FIRST: &[&str] = &[
    "James", "Mary", "John", "Linda", "Robert", "Susan", "David", "Karen", "Maria", "Peter", "Anna", "Paul",
    "Laura", "Mark", "Julia", "Thomas", "Emma", "Daniel", "Sofia", "Martin", "Jordan", "Taylor", "Morgan",
    "Casey", "Lee", "Victoria", "Carlos", "Chelsea", "Austin", "Paris", "Dallas", "Sydney", "Grant", "Dean",
    "Rose", "Mason", "Hunter",
];
const NICK: &[&str] =
    &["Jim", "Bob", "Liz", "Chuck", "Bill", "Peggy", "Dick", "Kate", "Ace", "Red", "Tony", "Sandy"];
const LAST: &[&str] = &[
    "Smith",
    "Johnson",
    "Brown",
    "Miller",
    "Davis",
    "Garcia",
    "Wilson",
    "Moore",
    "Taylor",
    "Lee",
    "Martin",
    "Jordan",
    "Grant",
    "Mason",
    "Hunter",
    "Washington",
    "Lincoln",
    "Jackson",
    "Marshall",
    "Bishop",
    "Dean",
    "Rose",
    "Page",
    "Park",
];
const SYLLABLES: &[&str] = &[
    "ba", "ber", "bor", "dal", "den", "der", "fel", "gar", "hal", "hol", "ken", "kor", "lan", "lar", "lin",
    "lo", "mar", "mer", "mon", "nor", "ra", "ren", "ros", "sal", "sen", "ster", "tal", "tin", "tor", "val",
    "ven", "wil", "zan",
];
const SUFFIX: &[&str] = &["Jr.", "Sr.", "III", "II", "PhD", "Ph.D.", "M.D.", "MBA", "Esq.", "CPA"];
const TITLE: &[&str] = &["Mr.", "Ms.", "Dr.", "Mrs.", "Prof.", "Mr", "Dr", "Sir", "Hon."];
const RANK: &[&str] =
    &["", "Senior", "Vice", "Assistant", "Associate", "Chief", "Lead", "Deputy", "Regional", "Sr."];
const JOB: &[&str] = &[
    "Manager",
    "Director",
    "Engineer",
    "President",
    "Consultant",
    "Analyst",
    "Editor",
    "Architect",
    "Partner",
    "Marketing Manager",
    "Sales Director",
    "Research Scientist",
    "Account Executive",
    "Program Officer",
    "Software Engineer",
    "Executive Officer",
    "Director of Sales",
    "Professor of Law",
    "Head of Research",
];
const DEPARTMENT: &[&str] = &[
    "Sales",
    "Research",
    "Marketing",
    "Human Resources",
    "Public Affairs",
    "Information Technology",
    "Customer Service",
    "Computer Science",
    "Law",
    "Accounting",
    "Engineering",
    "Legal Affairs",
    "Business Development",
];
const DIVISION: &[&str] = &["Department", "Dept.", "Division", "Group", "Office", "Team"];
const TRADE: &[&str] = &[
    "Systems",
    "Software",
    "Consulting",
    "Partners",
    "Industries",
    "Foods",
    "Press",
    "Media",
    "Bank",
    "Insurance",
    "Logistics",
    "Research",
    "Engineering",
    "Law Office",
    "Group",
    "Solutions",
    "Pharma",
    "Travel",
    "Energy",
];
const FORM: &[&str] = &["Inc.", "LLC", "Corp.", "Ltd.", "GmbH", "Co.", "& Sons", "International", "", ""];
const STREET: &[&str] = &[
    "Street",
    "St.",
    "Avenue",
    "Ave",
    "Road",
    "Rd.",
    "Boulevard",
    "Blvd",
    "Lane",
    "Drive",
    "Dr.",
    "Way",
    "Court",
    "Place",
    "Square",
    "Parkway",
];
const NUMBERED: &[&str] =
    &["First", "2nd", "Third", "5th", "Main", "Park", "Oak", "Washington", "Lake", "Hill", "42nd"];
const DIRECTION: &[&str] = &["", "", "", "N.", "South", "E", "West", "NW"];
const UNIT: &[&str] = &["Suite", "Ste.", "Floor", "Room", "Apt.", "#", "Unit", "Building"];
const CITY: &[&str] = &[
    "Springfield",
    "Boston",
    "Chicago",
    "Seattle",
    "Austin",
    "Dallas",
    "Paris",
    "London",
    "Berlin",
    "Toronto",
    "Sydney",
    "New York",
    "Los Angeles",
    "San Francisco",
    "Salt Lake City",
    "St. Louis",
    "Washington",
    "Jackson",
    "Lincoln",
    "Victoria",
    "Portland",
    "Cambridge",
    "Columbia",
    "Madison",
];
const PLACE: &[&str] =
    &["burg", "ville", "ton", "ford", "field", " Falls", " Springs", " Park", " City", "stadt", "by"];
const STATE: &[&str] = &[
    "MA",
    "IL",
    "WA",
    "TX",
    "NY",
    "CA",
    "OR",
    "WI",
    "UT",
    "MO",
    "DC",
    "Washington",
    "New York",
    "California",
    "Ontario",
    "Texas",
    "North Carolina",
    "Mass.",
    "Calif.",
    "BC",
];
const COUNTRY: &[&str] = &[
    "USA",
    "U.S.A.",
    "United States",
    "Germany",
    "Canada",
    "France",
    "UK",
    "United Kingdom",
    "Australia",
    "Mexico",
    "Jordan",
    "Georgia",
    "New Zealand",
];
const DOMAIN: &[&str] = &[".com", ".org", ".net", ".edu", ".de", ".co.uk", ".gov"];
const OFFICE: &[&str] =
    &["", "", "Tel:", "Phone:", "Tel.", "T:", "Office:", "(w)", "Ph:", "Telephone", "O:", "phone"];
const DIRECT: &[&str] = &["Direct:", "Direct", "D:", "Direct line:", "Direct Dial:"];
const FAX: &[&str] = &["Fax:", "Fax", "F:", "FAX", "Facsimile:", "(fax)"];
const MOBILE: &[&str] = &["Mobile:", "Cell:", "M:", "Cell", "mobile", "(m)", "Cellular:"];
const HOME: &[&str] = &["Home:", "H:", "home", "(h)", "Home phone:"];
const PAGER: &[&str] = &["Pager:", "Pager", "P:", "pgr"];
const MAIL: &[&str] = &["", "", "Email:", "E-mail:", "e-mail", "E:", "mailto:"];
const WEB: &[&str] = &["", "", "Web:", "URL:", "Website:", "W:", "On the web:"];
const MESSENGER: &[&str] = &["AIM:", "Skype:", "ICQ:", "MSN:", "Yahoo IM:"];

impl Contact {
    pub(super) fn new(random: &mut Random) -> Self {
        let r = random;
        let (first, last) = (first_name(r), last_name(r));
        let company = company(r);
        let mut fields = vec![name(r, &first, &last)];
        let mut push = |field: Vec<Piece>| fields.push(field);
        if r.chance(0.55) {
            push(job(r));
        }
        if r.chance(0.15) {
            push(vec![(department(r), "DEPARTMENT")]);
        }
        if r.chance(0.75) {
            push(vec![(company.clone(), "COMPANYNAME")]);
        }
        if r.chance(0.85) {
            push(vec![(address(r), "ADDRESSLINE")]);
            if r.chance(0.12) {
                push(vec![(unit(r), "ADDRESSLINE")]);
            }
        }
        if r.chance(0.85) {
            push(city(r));
        }
        let phones: [(f64, &[&str], &'static str); 6] = [
            (0.7, OFFICE, "COMPANYPHONE"),
            (0.15, DIRECT, "DIRECTCOMPANYPHONE"),
            (0.45, FAX, "FAX"),
            (0.3, MOBILE, "MOBILEPHONE"),
            (0.12, HOME, "HOMEPHONE"),
            (0.07, PAGER, "PAGER"),
        ];
        for (chance, words, label) in phones {
            if r.chance(chance) {
                let number = phone(r);
                push(announced(r, words, number, label));
            }
        }
        if r.chance(0.7) {
            let address = mail(r, &first, &last, &company);
            push(announced(r, MAIL, address, "EMAIL"));
        }
        if r.chance(0.08) {
            let user = format!("{}{}", first.to_lowercase(), r.below(100));
            push(announced(r, MESSENGER, user, "INSTANTMESSAGE"));
        }
        if r.chance(0.4) {
            let page = web(r, &company);
            push(announced(r, WEB, page, "WEBPAGE"));
        }
        Contact { fields }
    }
}

/// A field with the word that announces it before, or after it in brackets.
fn announced(r: &mut Random, words: &[&str], text: String, label: &'static str) -> Vec<Piece> {
    let word = words[r.below(words.len())];
    match word {
        "" => vec![(text, label)],
        word if word.starts_with('(') => vec![(text, label), (word.to_owned(), "OTHER")],
        word => vec![(word.to_owned(), "OTHER"), (text, label)],
    }
}

fn invented(r: &mut Random) -> String {
    let syllables = 2 + r.below(2);
    let word: String = (0..syllables).map(|_| SYLLABLES[r.below(SYLLABLES.len())]).collect();
    capital(&word)
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn first_name(r: &mut Random) -> String {
    if r.chance(0.8) { r.draw(FIRST).to_owned() } else { invented(r) }
}

fn last_name(r: &mut Random) -> String {
    match r.unit() {
        x if x < 0.45 => r.draw(LAST).to_owned(),
        x if x < 0.93 => invented(r),
        x if x < 0.97 => format!("van {}", invented(r)),
        _ => format!("{}-{}", r.draw(LAST), invented(r)),
    }
}

fn name(r: &mut Random, first: &str, last: &str) -> Vec<Piece> {
    let first = if r.chance(0.08) { format!("{}.", &first[..1]) } else { first.to_owned() };
    let mut pieces: Vec<Piece> = vec![];
    if r.chance(0.08) {
        // Last name first.
        pieces.push((format!("{last},"), "LASTNAME"));
        pieces.push((first, "FIRSTNAME"));
        return pieces;
    }
    if r.chance(0.15) {
        pieces.push((r.draw(TITLE).to_owned(), "TITLE"));
    }
    pieces.push((first, "FIRSTNAME"));
    if r.chance(0.1) {
        let nick = r.draw(NICK);
        pieces.push((if r.chance(0.5) { format!("\"{nick}\"") } else { format!("({nick})") }, "NICKNAME"));
    }
    if r.chance(0.25) {
        let middle = first_name(r);
        pieces.push((if r.chance(0.7) { format!("{}.", &middle[..1]) } else { middle }, "MIDDLENAME"));
    }
    pieces.push((last.to_owned(), "LASTNAME"));
    if r.chance(0.12) {
        pieces.push((r.draw(SUFFIX).to_owned(), "SUFFIX"));
    }
    pieces
}

fn job(r: &mut Random) -> Vec<Piece> {
    let job = format!("{} {}", RANK[r.below(RANK.len())], r.draw(JOB)).trim().to_owned();
    match r.unit() {
        x if x < 0.25 => vec![(format!("{job},"), "JOBTITLE"), (department(r), "DEPARTMENT")],
        _ => vec![(job, "JOBTITLE")],
    }
}

fn department(r: &mut Random) -> String {
    let (name, division) = (r.draw(DEPARTMENT), r.draw(DIVISION));
    match r.below(4) {
        0 => format!("{division} of {name}"),
        1 => name.to_owned(),
        _ => format!("{name} {division}"),
    }
}

fn company(r: &mut Random) -> String {
    let root = match r.below(4) {
        0 => r.draw(LAST).to_owned(),
        1 => format!("{} & {}", r.draw(LAST), invented(r)),
        _ => invented(r),
    };
    let form = FORM[r.below(FORM.len())];
    match r.below(6) {
        0 => format!("University of {}", city_name(r)),
        1 => format!("{root} {form}").trim().to_owned(),
        _ => format!("{root} {} {form}", r.draw(TRADE)).trim().to_owned(),
    }
}

fn address(r: &mut Random) -> String {
    let most = if r.chance(0.5) { 300 } else { 20_000 };
    let number = 1 + r.below(most);
    let street = if r.chance(0.4) { r.draw(NUMBERED).to_owned() } else { invented(r) };
    let direction = DIRECTION[r.below(DIRECTION.len())];
    let kind = r.draw(STREET);
    match r.unit() {
        x if x < 0.08 => format!("P.O. Box {number}"),
        x if x < 0.16 => format!("{street}straße {number}"),
        x if x < 0.34 => format!("{number} {direction} {street} {kind}, {}", unit(r)),
        _ => format!("{number} {direction} {street} {kind}"),
    }
}

fn unit(r: &mut Random) -> String {
    let number = 1 + r.below(900);
    let unit = r.draw(UNIT);
    if unit == "Floor" { format!("{}th Floor", 4 + number % 16) } else { format!("{unit} {number}") }
}

fn city_name(r: &mut Random) -> String {
    if r.chance(0.6) { r.draw(CITY).to_owned() } else { format!("{}{}", invented(r), r.draw(PLACE)) }
}

fn city(r: &mut Random) -> Vec<Piece> {
    let name = city_name(r);
    let code = |r: &mut Random, digits: usize| -> String {
        (0..digits).map(|_| char::from(b'0' + r.below(10) as u8)).collect()
    };
    let mut pieces: Vec<Piece> = vec![];
    if r.chance(0.2) {
        // As on the continent.
        let prefix = ["", "", "D-", "F-"][r.below(4)];
        pieces.push((format!("{prefix}{}", code(r, 5)), "POSTALCODE"));
        pieces.push((name, "CITY"));
    } else {
        let comma = if r.chance(0.8) { "," } else { "" };
        pieces.push((format!("{name}{comma}"), "CITY"));
        if r.chance(0.9) {
            pieces.push((r.draw(STATE).to_owned(), "STATE"));
        }
        if r.chance(0.9) {
            let more = if r.chance(0.2) { format!("-{}", code(r, 4)) } else { String::new() };
            pieces.push((format!("{}{more}", code(r, 5)), "POSTALCODE"));
        }
    }
    if r.chance(0.25) {
        pieces.push((r.draw(COUNTRY).to_owned(), "COUNTRY"));
    }
    pieces
}

fn phone(r: &mut Random) -> String {
    let (area, office, number) = (201 + r.below(700), 200 + r.below(800), r.below(10_000));
    let text = match r.below(7) {
        0 => format!("({area}) {office}-{number:04}"),
        1 => format!("{area}-{office}-{number:04}"),
        2 => format!("{area}.{office}.{number:04}"),
        3 => format!("+1 {area} {office} {number:04}"),
        4 => format!("+49 {} {office}{number:04}", area % 100),
        5 => format!("1-{area}-{office}-{number:04}"),
        _ => format!("{area} {office} {number:04}"),
    };
    if r.chance(0.08) { format!("{text} x{}", 10 + r.below(990)) } else { text }
}

fn domain(r: &mut Random, company: &str) -> String {
    let letters: String = company.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    format!("{}{}", letters.to_lowercase(), r.draw(DOMAIN))
}

fn mail(r: &mut Random, first: &str, last: &str, company: &str) -> String {
    let plain =
        |name: &str| name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
    let (first, last) = (plain(first), plain(last));
    let user = match r.below(4) {
        0 => format!("{first}.{last}"),
        1 => format!("{}{last}", &first[..1]),
        2 => first,
        _ => format!("{last}{}", r.below(100)),
    };
    format!("{user}@{}", domain(r, company))
}

fn web(r: &mut Random, company: &str) -> String {
    let domain = domain(r, company);
    match r.below(3) {
        0 => format!("http://www.{domain}/"),
        1 => domain,
        _ => format!("www.{domain}"),
    }
}
