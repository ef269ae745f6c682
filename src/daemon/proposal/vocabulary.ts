/** What HR exports call columns and statuses in several languages: data only. A new language is a new entry in each table. */

type Words = Readonly<Record<string, readonly string[]>>

/** The names of columns by what they hold. Case, blanks, signs and accents do not matter. */
export const columnNames = {
  identityId: {
    en: ['Emp ID', 'Emp No', 'Employee Ref', 'Payroll Number'],
    de: ['Personalnummer', 'Personalnr', 'Pers-Nr', 'Mitarbeiternummer', 'Mitarbeiter-ID'],
    fr: ['Matricule', 'Numéro de matricule', 'Identifiant salarié'],
    es: ['Número de empleado', 'Nº de empleado', 'ID de empleado', 'Matrícula'],
    pt: ['Matrícula', 'Número do funcionário', 'Número do colaborador'],
    it: ['Matricola', 'Numero dipendente', 'Codice dipendente'],
    nl: ['Personeelsnummer', 'Medewerkernummer', 'Werknemersnummer'],
    pl: ['Numer pracownika', 'Numer osobowy', 'Numer ewidencyjny', 'Nr ewidencyjny'],
    sv: ['Anställningsnummer', 'Anställnings-ID', 'Anst.nr'],
  },
  email: {
    en: ['Company Email', 'Work E-mail', 'Email ID', 'Office Email', 'Business E-mail'],
    de: ['E-Mail', 'E-Mail-Adresse', 'Dienstliche E-Mail', 'Geschäftliche E-Mail', 'Firmen-E-Mail'],
    fr: ['Courriel', 'E-mail professionnel', 'Adresse e-mail', 'Adresse électronique', 'Mail professionnel'],
    es: ['Correo', 'Correo electrónico', 'Correo corporativo', 'Email corporativo'],
    pt: ['E-mail corporativo', 'Correio eletrônico', 'Correio eletrónico', 'E-mail profissional'],
    it: ['Posta elettronica', 'E-mail aziendale', 'Indirizzo e-mail'],
    nl: ['Zakelijk e-mailadres', 'E-mailadres', 'E-mail werk'],
    pl: ['Adres e-mail', 'E-mail służbowy', 'Adres służbowy e-mail'],
    sv: ['E-post', 'E-postadress', 'Jobbmejl', 'E-post arbete'],
  },
  firstName: {
    en: ['Given Names', 'Preferred First Name', 'Forename'],
    de: ['Vorname', 'Rufname'],
    fr: ['Prénom'],
    es: ['Nombre', 'Nombres'],
    pt: ['Nome próprio', 'Primeiro nome'],
    it: ['Nome'],
    nl: ['Voornaam', 'Roepnaam'],
    pl: ['Imię', 'Imie'],
    sv: ['Förnamn', 'Tilltalsnamn'],
  },
  lastName: {
    en: ['Family Names', 'Surnames'],
    de: ['Nachname', 'Familienname', 'Zuname'],
    fr: ['Nom', 'Nom de famille', "Nom d'usage"],
    es: ['Apellido', 'Apellidos'],
    pt: ['Sobrenome', 'Apelido', 'Último nome'],
    it: ['Cognome'],
    nl: ['Achternaam'],
    pl: ['Nazwisko'],
    sv: ['Efternamn'],
  },
  jobTitle: {
    en: ['Designation', 'Position', 'Job Position'],
    de: ['Planstelle', 'Stelle', 'Position', 'Stellenbezeichnung', 'Funktion', 'Berufsbezeichnung'],
    fr: ['Poste', 'Fonction', 'Intitulé du poste', 'Emploi'],
    es: ['Puesto', 'Cargo', 'Puesto de trabajo'],
    pt: ['Cargo', 'Função'],
    it: ['Mansione', 'Qualifica', 'Posizione', 'Ruolo'],
    nl: ['Functie', 'Functienaam'],
    pl: ['Stanowisko'],
    sv: ['Befattning', 'Tjänstetitel', 'Yrkestitel'],
  },
  managerId: {
    en: ['Line Manager ID', 'Manager Employee Number', 'Reporting Manager ID'],
    de: ['Personalnummer Vorgesetzter', 'Personalnummer des Vorgesetzten', 'Vorgesetzten-ID'],
    fr: ['Matricule du manager', 'Matricule manager', 'Matricule du responsable'],
    es: ['ID del responsable', 'ID de responsable', 'Número de empleado del responsable'],
    pt: ['Matrícula do gestor', 'ID do gestor'],
    it: ['Matricola responsabile', 'Matricola del responsabile'],
    nl: ['Personeelsnummer leidinggevende', 'Personeelsnummer manager'],
    pl: ['Numer przełożonego', 'ID przełożonego'],
    sv: ['Chefens anställningsnummer', 'Anställningsnummer chef'],
  },
  managerName: {
    en: ['Line Manager', 'Reporting Manager'],
    de: ['Vorgesetzter', 'Vorgesetzte', 'Führungskraft'],
    fr: ['Responsable', 'Responsable hiérarchique', 'Supérieur hiérarchique'],
    es: ['Responsable', 'Jefe', 'Jefe directo'],
    pt: ['Gestor', 'Gestor direto', 'Chefia'],
    it: ['Responsabile', 'Responsabile diretto'],
    nl: ['Leidinggevende'],
    pl: ['Przełożony', 'Kierownik'],
    sv: ['Chef', 'Närmaste chef'],
  },
  startedAt: {
    en: ['Date of Joining', 'Date Joined', 'Joined Date', 'Joining Date', 'Hired On', 'Date of Hire', 'DOJ', 'DOH'],
    de: ['Eintritt', 'Eintrittsdatum', 'Einstellungsdatum', 'Beschäftigt seit', 'Beginn der Beschäftigung'],
    fr: ["Date d'entrée", "Date d'embauche", "Date d'arrivée", "Début d'ancienneté"],
    es: ['Fecha de alta', 'Fecha de ingreso', 'Fecha de contratación', 'Fecha de inicio'],
    pt: ['Data de admissão', 'Admissão', 'Data de entrada', 'Data de contratação'],
    it: ['Data di assunzione', 'Data assunzione', 'Data inizio rapporto'],
    nl: ['Datum in dienst', 'In dienst', 'Indiensttreding', 'Datum indiensttreding'],
    pl: ['Data zatrudnienia', 'Data przyjęcia', 'Data rozpoczęcia pracy'],
    sv: ['Anställningsdatum', 'Anställd från', 'Startdatum'],
  },
  separatedAt: {
    en: ['Relieving Date', 'Term Date', 'Date of Exit', 'Exit Date', 'Date Left', 'Departure Date'],
    de: ['Austritt', 'Austrittsdatum', 'Beschäftigt bis', 'Beschäftigungsende', 'Ende der Beschäftigung'],
    fr: ['Date de sortie', 'Date de départ'],
    es: ['Fecha de baja', 'Fecha de salida', 'Fecha de cese', 'Fecha de egreso'],
    pt: ['Data de demissão', 'Data de saída', 'Data de desligamento', 'Data de rescisão'],
    it: ['Data di cessazione', 'Data cessazione', 'Data fine rapporto'],
    nl: ['Datum uit dienst', 'Uit dienst', 'Uitdiensttreding', 'Datum uitdiensttreding'],
    pl: ['Data zwolnienia', 'Data zakończenia pracy', 'Data ustania zatrudnienia'],
    sv: ['Slutdatum', 'Avgångsdatum', 'Anställd till', 'Avslutsdatum'],
  },
  status: {
    en: ['Status', 'Work Status', 'Job Status', 'Position Status', 'Employee State'],
    de: ['Beschäftigungsstatus', 'Beschaeftigungsstatus', 'Mitarbeiterstatus', 'Personalstatus', 'Status'],
    fr: ['Statut', 'État', 'Statut du salarié', 'Statut de l’employé'],
    es: ['Estado', 'Estatus', 'Situación', 'Situación laboral'],
    pt: ['Situação', 'Estado', 'Situação do colaborador'],
    it: ['Stato', 'Stato dipendente', 'Stato del rapporto'],
    nl: ['Status medewerker', 'Dienstverbandstatus'],
    pl: ['Status pracownika', 'Status zatrudnienia', 'Stan zatrudnienia'],
    sv: ['Anställningsstatus', 'Personalstatus'],
  },
} as const satisfies Readonly<Record<string, Words>>

/** Columns that are not fields, and show how others are read. */
export const otherColumnNames = {
  /** Both names of a person in one cell. */
  fullName: {
    en: ['Full Name', 'Name', 'Employee Name', 'Display Name', 'Worker Name', 'Legal Name', 'Preferred Name'],
    de: ['Name', 'Vollständiger Name', 'Mitarbeiter', 'Mitarbeitername'],
    fr: ['Nom complet', 'Nom et prénom', 'Nom prénom', 'Prénom et nom', 'Salarié'],
    es: ['Nombre completo', 'Nombre y apellidos', 'Apellidos y nombre', 'Empleado'],
    pt: ['Nome completo', 'Nome', 'Colaborador', 'Funcionário'],
    it: ['Nome completo', 'Nome e cognome', 'Cognome e nome', 'Nominativo', 'Dipendente'],
    nl: ['Naam', 'Volledige naam', 'Medewerker'],
    pl: ['Imię i nazwisko', 'Nazwisko i imię', 'Pracownik'],
    sv: ['Namn', 'Fullständigt namn', 'Anställd'],
  },
  /** Those of them in which the last name stands first. */
  lastNameFirst: {
    en: ['Last Name First Name', 'Surname and Name'],
    de: ['Name Vorname', 'Nachname Vorname'],
    fr: ['Nom et prénom', 'Nom prénom'],
    es: ['Apellidos y nombre'],
    pt: ['Sobrenome e nome', 'Apelido e nome'],
    it: ['Cognome e nome'],
    nl: ['Achternaam en voornaam'],
    pl: ['Nazwisko i imię'],
    sv: ['Efternamn och förnamn'],
  },
  /** Yes or no, as to whether a person is employed or has left: only a person knows which of them. */
  employedFlag: {
    en: ['Active', 'Is Active', 'Active Employee', 'Employed', 'Terminated', 'Is Terminated', 'Left', 'Inactive'],
    de: ['Aktiv', 'Ist aktiv', 'Beschäftigt', 'Ausgetreten', 'Ausgeschieden', 'Inaktiv'],
    fr: ['Actif', 'En poste', 'Sorti', 'Inactif'],
    es: ['Activo', 'De alta', 'Inactivo'],
    pt: ['Ativo', 'Desligado', 'Inativo'],
    it: ['Attivo', 'In forza', 'Cessato'],
    nl: ['Actief', 'In dienst', 'Uit dienst'],
    pl: ['Aktywny', 'Zatrudniony', 'Zwolniony'],
    sv: ['Aktiv', 'Anställd', 'Slutat'],
  },
  /** Which of several rows of a person is the main one. */
  mainRow: {
    en: ['Primary Position', 'Primary Job', 'Is Primary', 'Primary', 'Primary Flag', 'Primary Assignment', 'Main Job'],
    de: ['Hauptbeschäftigung', 'Hauptplanstelle', 'Hauptstelle', 'Hauptvertrag'],
    fr: ['Poste principal', 'Contrat principal', 'Affectation principale'],
    es: ['Puesto principal', 'Contrato principal'],
    pt: ['Cargo principal', 'Contrato principal'],
    it: ['Posizione principale', 'Contratto principale'],
    nl: ['Hoofdfunctie', 'Hoofdcontract', 'Hoofddienstverband'],
    pl: ['Główne stanowisko', 'Główna umowa'],
    sv: ['Huvudanställning', 'Huvudbefattning'],
  },
  /** The day from which a row applies. */
  effectiveDate: {
    en: ['Effective Date', 'Effective From', 'Valid From', 'Effdt', 'Begda', 'Row Effective Date'],
    de: ['Gültig ab', 'Gültig von', 'Wirksam ab'],
    fr: ["Date d'effet", 'Valable à partir du'],
    es: ['Fecha efectiva', 'Fecha de efecto', 'Válido desde'],
    pt: ['Data de vigência', 'Data efetiva', 'Válido desde'],
    it: ['Data di decorrenza', 'Data decorrenza', 'Valido dal'],
    nl: ['Ingangsdatum', 'Geldig vanaf'],
    pl: ['Data obowiązywania', 'Obowiązuje od'],
    sv: ['Gäller från', 'Giltig från'],
  },
  /** Dates that are not leaving dates. */
  otherDate: {
    en: ['Birth Date', 'Date of Birth', 'Birthday', 'DOB', 'Last Updated', 'Modified', 'Created', 'Original Hire Date'],
    de: ['Geburtsdatum', 'Geburtstag', 'Geändert am', 'Probezeitende'],
    fr: ['Date de naissance', 'Modifié le'],
    es: ['Fecha de nacimiento'],
    pt: ['Data de nascimento'],
    it: ['Data di nascita'],
    nl: ['Geboortedatum'],
    pl: ['Data urodzenia'],
    sv: ['Födelsedatum'],
  },
} as const satisfies Readonly<Record<string, Words>>

/** The meaning of a status in every system that uses the word. */
export const statusWords = {
  left: {
    en: ['Terminated', 'Left', 'Separated', 'Resigned', 'Retired', 'Dismissed', 'Former', 'Deceased', 'Offboarded'],
    de: ['ausgetreten', 'ausgeschieden', 'ehemalig', 'entlassen', 'beendet'],
    fr: ['sorti', 'sortie', 'parti', 'licencié', 'ancien salarié'],
    es: ['cesado', 'desvinculado', 'exempleado', 'despedido'],
    pt: ['desligado', 'demitido', 'desvinculado'],
    it: ['cessato', 'licenziato', 'dimesso'],
    nl: ['uit dienst', 'vertrokken', 'ontslagen'],
    pl: ['zwolniony', 'były pracownik'],
    sv: ['avslutad', 'slutat', 'avgått'],
  },
  employed: {
    en: ['Active', 'Employed', 'Current', 'On Leave', 'Leave of Absence', 'Parental Leave', 'Probation', 'Onboarding'],
    de: ['aktiv', 'beschäftigt', 'Elternzeit', 'Mutterschutz', 'Probezeit'],
    fr: ['actif', 'active', 'en poste', 'présent', 'congé parental', "période d'essai"],
    es: ['activo', 'alta', 'en alta', 'en periodo de prueba'],
    pt: ['ativo', 'em atividade', 'em férias'],
    it: ['attivo', 'in forza', 'in prova'],
    nl: ['actief', 'in dienst', 'ouderschapsverlof'],
    pl: ['aktywny', 'zatrudniony', 'urlop'],
    sv: ['aktiv', 'anställd', 'föräldraledig'],
  },
} as const satisfies Readonly<Record<string, Words>>

/** Words that one system says of people who left, and another of people on leave, between seasons or under notice. */
export const ambiguousStatuses: Words = {
  en: ['Inactive', 'On Hold', 'Suspended', 'Seasonal', 'Furloughed', 'Dormant', 'Disabled', 'Deactivated', 'Archived'],
  'en, notice': ['Notice', 'Notice Period', 'Serving Notice', 'Garden Leave', 'Pending', 'Laid Off', 'Closed'],
  de: ['inaktiv', 'ruhend', 'passiv', 'gesperrt', 'gekündigt', 'freigestellt', 'pausiert', 'Rentner'],
  fr: ['inactif', 'inactive', 'suspendu', 'démissionnaire', 'en préavis', 'saisonnier', 'archivé'],
  es: ['inactivo', 'suspendido', 'baja', 'de baja', 'excedencia', 'fijo discontinuo', 'archivado'],
  pt: ['inativo', 'inactivo', 'suspenso', 'afastado', 'em aviso prévio'],
  it: ['inattivo', 'sospeso', 'in aspettativa', 'stagionale', 'in preavviso'],
  nl: ['inactief', 'geschorst', 'non-actief', 'slapend', 'seizoen'],
  pl: ['nieaktywny', 'zawieszony', 'w okresie wypowiedzenia'],
  sv: ['inaktiv', 'vilande', 'tjänstledig', 'uppsagd', 'avstängd'],
}

/** A table of names as one list. */
export function wordsIn(table: Words): readonly string[] {
  return Object.values(table).flat()
}
