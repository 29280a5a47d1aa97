CREATE TABLE Categories (
  CategoryID INTEGER PRIMARY KEY,
  CategoryName TEXT NOT NULL,
  Description TEXT,
  Picture BLOB
);
CREATE TABLE Suppliers (
  SupplierID INTEGER PRIMARY KEY,
  CompanyName TEXT NOT NULL,
  ContactName TEXT,
  ContactTitle TEXT,
  Address TEXT,
  City TEXT,
  Region TEXT,
  PostalCode TEXT,
  Country TEXT,
  Phone TEXT,
  Fax TEXT,
  HomePage TEXT
);
CREATE TABLE Products (
  ProductID INTEGER PRIMARY KEY,
  ProductName TEXT NOT NULL,
  SupplierID INTEGER REFERENCES Suppliers (SupplierID),
  CategoryID INTEGER REFERENCES Categories (CategoryID),
  QuantityPerUnit TEXT,
  UnitPrice REAL,
  UnitsInStock INTEGER,
  UnitsOnOrder INTEGER,
  ReorderLevel INTEGER,
  Discontinued INTEGER NOT NULL
);
CREATE TABLE Customers (
  CustomerID TEXT NOT NULL PRIMARY KEY,
  CompanyName TEXT NOT NULL,
  ContactName TEXT,
  ContactTitle TEXT,
  Address TEXT,
  City TEXT,
  Region TEXT,
  PostalCode TEXT,
  Country TEXT,
  Phone TEXT,
  Fax TEXT
);
CREATE TABLE CustomerDemographics (
  CustomerTypeID TEXT NOT NULL PRIMARY KEY,
  CustomerDesc TEXT
);
CREATE TABLE CustomerCustomerDemo (
  CustomerID TEXT NOT NULL REFERENCES Customers (CustomerID),
  CustomerTypeID TEXT NOT NULL REFERENCES CustomerDemographics (CustomerTypeID),
  PRIMARY KEY (CustomerID, CustomerTypeID)
);
CREATE TABLE Employees (
  EmployeeID INTEGER PRIMARY KEY,
  LastName TEXT NOT NULL,
  FirstName TEXT NOT NULL,
  Title TEXT,
  TitleOfCourtesy TEXT,
  BirthDate TEXT,
  HireDate TEXT,
  Address TEXT,
  City TEXT,
  Region TEXT,
  PostalCode TEXT,
  Country TEXT,
  HomePhone TEXT,
  Extension TEXT,
  Photo BLOB,
  Notes TEXT,
  ReportsTo INTEGER REFERENCES Employees (EmployeeID),
  PhotoPath TEXT
);
CREATE TABLE Region (
  RegionID INTEGER PRIMARY KEY,
  RegionDescription TEXT NOT NULL
);
CREATE TABLE Territories (
  TerritoryID TEXT NOT NULL PRIMARY KEY,
  TerritoryDescription TEXT NOT NULL,
  RegionID INTEGER NOT NULL REFERENCES Region (RegionID)
);
CREATE TABLE EmployeeTerritories (
  EmployeeID INTEGER NOT NULL REFERENCES Employees (EmployeeID),
  TerritoryID TEXT NOT NULL REFERENCES Territories (TerritoryID),
  PRIMARY KEY (EmployeeID, TerritoryID)
);
CREATE TABLE Shippers (
  ShipperID INTEGER PRIMARY KEY,
  CompanyName TEXT NOT NULL,
  Phone TEXT
);
CREATE TABLE Orders (
  OrderID INTEGER PRIMARY KEY,
  CustomerID TEXT REFERENCES Customers (CustomerID),
  EmployeeID INTEGER REFERENCES Employees (EmployeeID),
  OrderDate TEXT,
  RequiredDate TEXT,
  ShippedDate TEXT,
  ShipVia INTEGER REFERENCES Shippers (ShipperID),
  Freight REAL,
  ShipName TEXT,
  ShipAddress TEXT,
  ShipCity TEXT,
  ShipRegion TEXT,
  ShipPostalCode TEXT,
  ShipCountry TEXT
);
CREATE TABLE "Order Details" (
  OrderID INTEGER NOT NULL REFERENCES Orders (OrderID),
  ProductID INTEGER NOT NULL REFERENCES Products (ProductID),
  UnitPrice REAL NOT NULL,
  Quantity INTEGER NOT NULL,
  Discount REAL NOT NULL,
  PRIMARY KEY (OrderID, ProductID)
);
