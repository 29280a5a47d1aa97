CREATE SCHEMA sales;
CREATE SCHEMA hr;
CREATE TYPE mood AS ENUM ('happy', 'sad');
CREATE TABLE customers (
    id serial PRIMARY KEY,
    name varchar(80) NOT NULL,
    country text,
    mood mood,
    tags text[],
    doc jsonb,
    vip boolean DEFAULT false
);
CREATE TABLE sales.orders (
    id bigint PRIMARY KEY,
    customer_id int REFERENCES customers (id),
    ordered_at timestamp,
    day date,
    amount numeric(10, 2),
    note text,
    total numeric GENERATED ALWAYS AS (amount * 2) STORED
);
CREATE TABLE sales."Order Details" (
    order_id bigint REFERENCES sales.orders (id),
    line int,
    "Unit Price" real,
    PRIMARY KEY (order_id, line)
);
CREATE TABLE hr.customers (id int PRIMARY KEY, boss int REFERENCES hr.customers (id));
CREATE TABLE "group" ("order" int, "имя" text);
CREATE VIEW sales.large AS SELECT * FROM sales.orders WHERE amount > 10;
CREATE MATERIALIZED VIEW sales.counted AS SELECT count(*) AS n FROM sales.orders;
INSERT INTO customers (name, country, mood, tags, doc, vip) VALUES
    ('Anna', 'Germany', 'happy', '{a,b}', '{"x": 1, "y": {"z": "deep"}}', true),
    ('Bert', 'France', 'sad', NULL, NULL, false),
    ('Cleo', 'Germany', NULL, '{}', '{"x": 2}', false);
INSERT INTO sales.orders (id, customer_id, ordered_at, day, amount, note) VALUES
    (1, 1, '1997-01-01 10:00', '1997-01-01', 12.50, 'first'),
    (2, 2, '1997-02-03 00:00', '1997-02-03', 7.25, NULL),
    (3, 1, '1998-05-06 23:59', '1998-05-06', 100, 'last'),
    (4, NULL, NULL, NULL, NULL, NULL);
INSERT INTO sales."Order Details" VALUES (1, 1, 1.5), (1, 2, 2.5), (2, 1, 10);
INSERT INTO hr.customers VALUES (1, NULL), (2, 1);
INSERT INTO "group" VALUES (1, 'Жук'), (2, '한국');
REFRESH MATERIALIZED VIEW sales.counted;
