"""What schema words of any trade are called in everyday English, Korean and German, and countries in the latter two.

Names of countries come from the CLDR (Unicode's data on languages), read through Babel. The other words are everyday
ones for what databases hold; each counts only where the database has the name that it stands for, and no other name,
term of the glossary or value is written like it.
"""

from __future__ import annotations

from functools import lru_cache

LANGUAGES = ("ko", "de")

_NAMES = """
name: 이름, 성명, 명칭, Name, Namen, Bezeichnung
first name: Vorname, Vornamen
last name: 성, 성씨, Nachname, Nachnamen, Familienname
company name: 회사명, 회사 이름, 업체명, 상호, Firmenname, Firmennamen, Firma
product name: 제품명, 상품명, 제품 이름, Produktname, Produktnamen
category name: 카테고리명, 카테고리 이름
contact name: 담당자, 담당자명, 담당자 이름, 연락 담당자, Ansprechpartner, Kontaktperson
contact title: 담당자 직함, 담당자 직책
contact: 연락처
title: 직함, 직책, 제목, Titel
phone: 전화, 전화번호, 연락처, Telefon, Telefonnummer, Telefonnummern, Rufnummer
fax: 팩스, 팩스번호, 팩스 번호, Faxnummer
email: 이메일, 메일, E-Mail
address: 주소, Adresse, Adressen, Anschrift
city: 도시, 시, Stadt, Städte, Städten, Ort, Orte
country: 국가, 나라, Land, Länder, Ländern
region: 지역, 권역
postal code: 우편번호, Postleitzahl, Postleitzahlen, PLZ
price: 가격, 값, 단가, Preis, Preise
unit price: 단가, Stückpreis, Einzelpreis
quantity: 수량, Menge, Mengen, Stückzahl
amount: 금액, Betrag, Beträge
cost: 비용, Kosten
weight: 무게, 중량, Gewicht
date: 날짜, 일자, Datum
description: 설명, Beschreibung
notes: 메모, 비고, Notizen
status: 상태
birth date: 생년월일, 생일, Geburtsdatum, Geburtstag
hire date: 입사일, 고용일, Einstellungsdatum
order date: 주문일, 주문 날짜, 주문일자, Bestelldatum
shipped date: 배송일, 출고일, Versanddatum
customer: 고객, 손님, 거래처, Kunde, Kunden, Kundin
supplier: 공급업체, 공급사, 납품업체, Lieferant, Lieferanten
employee: 직원, 사원, Mitarbeiter, Mitarbeitern, Angestellte, Angestellten
order: 주문, Bestellung, Bestellungen, Auftrag, Aufträge, Aufträgen
product: 제품, 상품, 물품, Produkt, Produkte, Produkten, Artikel, Artikeln, Ware, Waren
category: 카테고리, 분류, 범주, Kategorie, Kategorien
shipper: 운송사, 배송업체, Spediteur, Spediteure
invoice: 송장, 청구서, Rechnung, Rechnungen
payment: 결제, 지불, Zahlung, Zahlungen
patient: 환자, Patient, Patienten, Patientin
doctor: 의사, Arzt, Ärzte, Ärztin
appointment: 예약, 진료 예약, Termin, Termine, Terminen
student: 학생, Schüler, Student, Studenten
teacher: 교사, 선생님, Lehrer, Lehrerin
course: 강좌, 수업, Kurs, Kurse, Kursen
department: 부서, Abteilung, Abteilungen
book: 책, 도서, Buch, Bücher, Büchern
author: 저자, 작가, Autor, Autoren
store: 매장, 지점, Filiale, Filialen
ship: 선박, Schiff, Schiffe, Schiffen
boat: 보트, 배, Boot, Boote, Booten
harbour: 항구, Hafen, Häfen
port: 항구, Hafen, Häfen
captain: 선장, Kapitän, Kapitäne
crew: 승무원, 선원, Besatzung, Mannschaft
flight: 항공편, Flug, Flüge, Flügen
airport: 공항, Flughafen, Flughäfen
passenger: 승객, Passagier, Passagiere, Fahrgast, Fahrgäste
ticket: 티켓, 승차권, Fahrkarte, Fahrkarten, Eintrittskarte, Eintrittskarten
driver: 운전사, 운전기사, Fahrer, Fahrerin
vehicle: 차량, Fahrzeug, Fahrzeuge, Auto, Autos
car: 자동차, 차량, Auto, Autos
hotel: 호텔, Hotel, Hotels
room: 객실, 방, Zimmer, Zimmern, Raum, Räume
guest: 투숙객, 손님, Gast, Gäste, Gästen
booking: 예약, Buchung, Buchungen, Reservierung, Reservierungen
reservation: 예약, Buchung, Buchungen, Reservierung, Reservierungen
service: 서비스, Dienstleistung, Dienstleistungen
review: 리뷰, 후기, Bewertung, Bewertungen, Rezension, Rezensionen
rating: 평점, 별점, Bewertung, Note, Noten
restaurant: 식당, 레스토랑, Restaurant, Restaurants
dish: 요리, 메뉴, Gericht, Gerichte
member: 회원, Mitglied, Mitglieder, Mitgliedern
user: 사용자, 이용자, Nutzer, Benutzer
loan: 대출, Darlehen, Ausleihe, Ausleihen
account: 계좌, 계정, Konto
balance: 잔액, Kontostand, Saldo
branch: 지점, Filiale, Filialen, Zweigstelle
office: 사무실, Büro, Büros
warehouse: 창고, Lager, Lagerhaus
factory: 공장, Fabrik, Fabriken, Werk
machine: 기계, 설비, Maschine, Maschinen
project: 프로젝트, Projekt, Projekte, Projekten
task: 작업, 업무, Aufgabe, Aufgaben
team: 팀, Mannschaft, Mannschaften, Team, Teams
player: 선수, Spieler, Spielerin, Spielern
match: 경기, 시합, Spiel, Spiele
film: 영화, Film, Filme, Filmen
movie: 영화, Film, Filme, Filmen
actor: 배우, Schauspieler, Schauspielerin
song: 노래, 곡, Lied, Lieder
album: 앨범, 음반, Album, Alben
artist: 가수, 음악가, Künstler, Künstlerin
school: 학교, Schule, Schulen
class: 학급, 반, Klasse, Klassen
grade: 성적, 학점, Note, Noten, Zensur
hospital: 병원, Krankenhaus, Krankenhäuser
nurse: 간호사, Pfleger, Krankenschwester
treatment: 치료, Behandlung, Behandlungen
animal: 동물, Tier, Tiere, Tieren
salary: 급여, 월급, 연봉, Gehalt, Gehälter, Lohn
job title: 직책, 직함, Berufsbezeichnung, Stelle
total price: 총액, 총 가격, Gesamtpreis, Gesamtbetrag
age: 나이, 연령, Alter
gender: 성별, Geschlecht
floor: 층, Etage, Stockwerk
length: 길이, Länge
height: 높이, Höhe
distance: 거리, Entfernung, Strecke
duration: 기간, 소요 시간, Dauer
color: 색상, 색깔, Farbe, Farben
brand: 브랜드, 상표, Marke, Marken
model: 모델, 기종, Modell, Modelle
check in: 체크인, Anreise
check out: 체크아웃, Abreise
"""

_EVERYDAY = """
order: purchase, purchases, shipment, shipments, consignment, consignments, delivery, deliveries, transaction,
order: transactions
discount: rebate, rebates, price reduction, price reductions, Rabatt, Rabatte
freight: postage, shipping cost, shipping costs, shipping charge, shipping charges, shipping fee, shipping fees,
freight: delivery cost, delivery costs, delivery charge, delivery charges, delivery fee, delivery fees, transport cost,
freight: transport costs, haulage, Fracht, Frachtkosten, Versandkosten
shipper: carrier, carriers, courier, couriers, haulier, hauliers, forwarder, forwarders, shipping company,
shipper: shipping companies, delivery company, delivery companies
supplier: vendor, vendors, provider, providers, manufacturer, manufacturers, producer, producers, wholesaler
customer: client, clients, buyer, buyers, shopper, shoppers, clientele
employee: staff, staff member, staff members, worker, workers, colleague, colleagues, coworker, coworkers, rep, reps,
employee: team member, team members, personnel, salesperson, salespeople
manager: boss, bosses, supervisor, supervisors, superior, superiors
reports to: manager, managers, boss, bosses, supervisor, supervisors
product: item, items, article, articles, goods, merchandise
category: product group, product groups, kind of product, kinds of products
address: street, street address
postal code: zip, zip code, post code, postcode
email: mail address
phone: telephone, telephones, telephone number, telephone numbers, contact number, mobile number, number to call,
phone: number to ring
birth date: birthday, birthdays, date of birth, dob, born
hire date: start date, start dates, hiring date, date of hire, joining date, employment date, hired
required date: due date, due dates, deadline, deadlines, date required
shipped date: ship date, shipping date, shipping dates, dispatch date, date of shipment
title: job title, job titles, job, jobs, role, roles, position, positions, occupation, occupations, profession
job title: job, jobs, role, roles, position, positions, occupation, occupations, profession, professions
contact name: contact person, contact persons, contact people, who to ask for, person to ask for, who to call
guest: customer, customers, client, clients, visitor, visitors
booking: reservation, reservations, stay, stays
reservation: booking, bookings, stay, stays
member: user, users, subscriber, subscribers
student: pupil, pupils, learner, learners
teacher: instructor, instructors, lecturer, lecturers, professor, professors, tutor, tutors
author: writer, writers
store: shop, shops, outlet, outlets, branch, branches
branch: shop, shops, outlet, outlets, store, stores
film: movie, movies
movie: film, films
department: division, divisions
comment: remark, remarks
rating: score, scores
total price: turnover, revenue, revenues, sales, income, earnings, takings, spent, spend, spends, spender, spenders,
total price: earned, brought in, bring in, brings in
total amount: turnover, revenue, revenues, sales, income, earnings, takings, spent, spend, spends, spender, spenders,
total amount: earned, brought in, bring in, brings in
amount paid: turnover, revenue, revenues, income, earnings, takings, spent, spend, spends, spender, spenders
units in stock: stock, inventory, stock level, stock levels, units on hand
unit price: price, prices, list price, list prices
salary: wage, wages, earnings, pay, paid, earn, earns
invoice: bill, bills
doctor: physician, physicians, medic
physician: doctor, doctors
vehicle: car, cars
"""


OF_PEOPLE = frozenset({"title", "reports to", "hire date", "manager", "salary"})
"""Schema words whose everyday words are those of people: the title of a book is nobody's job title."""


@lru_cache(maxsize=1)
def _read() -> tuple[tuple[str, tuple[str, ...]], ...]:
    lines = (line.partition(": ") for line in (_NAMES + _EVERYDAY).split("\n") if line)
    return tuple((name, tuple(others.rstrip(",").split(", "))) for name, _, others in lines)


def names_abroad() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Schema words, each with what it is called elsewhere and in everyday English.

    >>> next(others for name, others in names_abroad() if name == "postal code")[:2]
    ('우편번호', 'Postleitzahl')
    """
    return _read()


_ENGLISH = frozenset({"island"})
"""What a country is called elsewhere and English has for something else: Iceland is `Island` in German."""


@lru_cache(maxsize=1)
def _territories() -> dict[str, tuple[str, ...]]:
    from babel import Locale

    english = Locale.parse("en").territories
    others = [Locale.parse(language).territories for language in LANGUAGES]
    return {
        name.casefold(): tuple(
            dict.fromkeys(
                other[code]
                for other in others
                if code in other and other[code] != name and other[code].casefold() not in _ENGLISH
            )
        )
        for code, name in english.items()
        if code.isalpha()
    }


def country_abroad(country: str) -> tuple[str, ...]:
    """What a country, by its usual English name, is called elsewhere; `()` for what is none.

    >>> country_abroad("Germany"), country_abroad("Chai")
    (('독일', 'Deutschland'), ())
    """
    return _territories().get(country.casefold(), ())
