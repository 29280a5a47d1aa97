-- A small harbour with odd names: spaces, reserved words, umlauts, quotes and cut-off columns. Used to measure buckets.
CREATE TABLE "Boat Owners" (
  owner_no INTEGER PRIMARY KEY,
  "full name" TEXT NOT NULL,
  town TEXT,
  joined_on TEXT
);
CREATE TABLE boats (
  "reg#" TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  "type" TEXT,
  length_m REAL,
  owner_no INTEGER REFERENCES "Boat Owners" (owner_no)
);
CREATE TABLE "Hafen Plätze" (
  platz_nr INTEGER PRIMARY KEY,
  "Steg" TEXT,
  preis REAL
);
CREATE TABLE stay (
  stay_id INTEGER PRIMARY KEY,
  "reg#" TEXT REFERENCES boats ("reg#"),
  platz_nr INTEGER REFERENCES "Hafen Plätze" (platz_nr),
  arrived TEXT,
  left_on TEXT,
  nights INTEGER
);
CREATE TABLE "order" (
  order_no INTEGER PRIMARY KEY,
  "reg#" TEXT REFERENCES boats ("reg#"),
  "group" TEXT,
  opened TEXT,
  closed TEXT,
  cost_eur REAL
);
CREATE TABLE "Crew""Members" (
  crew_no INTEGER PRIMARY KEY,
  "first" TEXT,
  "last" TEXT,
  home TEXT,
  "reg#" TEXT REFERENCES boats ("reg#")
);
INSERT INTO "Boat Owners" VALUES
  (1, 'Ruth Okafor', 'Kiel', '2012-04-01'), (2, 'Jonas Brandt', 'Lübeck', '2015-09-12'),
  (3, 'Mei Tanaka', 'Kiel', '2018-02-20'), (4, 'Olu Adeyemi', 'Rostock', '2020-06-30'),
  (5, 'Sara Lindqvist', 'Malmö', '2021-05-05');
INSERT INTO boats VALUES
  ('DE-101', 'Nordwind', 'sloop', 9.4, 1), ('DE-102', 'Kleine Freiheit', 'ketch', 12.1, 1),
  ('DE-103', 'Möwe', 'sloop', 7.8, 2), ('SE-201', 'Havsörn', 'yawl', 10.6, 5),
  ('DE-104', 'Albatros', 'cutter', 14.0, 3), ('DE-105', 'Sturmvogel', 'sloop', 8.2, 3);
INSERT INTO "Hafen Plätze" VALUES
  (1, 'Weststeg', 18.5), (2, 'Weststeg', 22.0), (3, 'Oststeg', 15.0), (4, 'Nordsteg', 30.0);
INSERT INTO stay VALUES
  (1, 'DE-101', 1, '2020-06-03', '2020-06-08', 5), (2, 'DE-102', 4, '2021-07-10', '2021-07-13', 3),
  (3, 'SE-201', 2, '2021-08-01', '2021-08-15', 14), (4, 'DE-103', 3, '2022-05-20', '2022-05-21', 1),
  (5, 'DE-101', 1, '2022-06-11', '2022-06-18', 7);
INSERT INTO "order" VALUES
  (1, 'DE-101', 'rigging', '2020-03-02', '2020-03-19', 640.0), (2, 'DE-101', 'engine', '2021-03-05', '2021-04-01', 1250.0),
  (3, 'DE-104', 'paint', '2021-10-11', '2021-11-02', 980.0), (4, 'DE-101', 'paint', '2022-02-14', '2022-02-28', 410.0),
  (5, 'SE-201', 'engine', '2022-09-01', NULL, 2100.0);
INSERT INTO "Crew""Members" VALUES
  (1, 'Ingrid', 'Dahl', 'Oslo', 'SE-201'), (2, 'Piet', 'de Vries', 'Delft', 'DE-102'), (3, 'Ana', 'Reyes', 'Vigo', 'DE-104');
