import iconv from 'iconv-lite'
import { describe, expect, test } from 'vitest'
import { guessEncoding } from '../../../../src/connectors/file/decode/guess-encoding.ts'

function guess(words: string, encoding: string) {
  const lines = words.split(' ').map((word, row) => `E${row};${word};2024-01-15;Active`)
  return guessEncoding(iconv.encode(`Nr;Name;Start;Status\n${lines.join('\n')}\n`, encoding))
}

describe('an encoding is certain if one reading remains', () => {
  test.each([
    ['German', 'windows-1252', 'Müller Groß Jörg Schäfer'],
    ['one German word', 'windows-1252', 'Müller'],
    ['French', 'windows-1252', 'Hélène François Jérôme Noël Benoît Irène Françoise Gonçalves'],
    [
      'Spanish',
      'windows-1252',
      'Muñoz Peña García Martínez Fernández López Rodríguez Sánchez Pérez Núñez Ibáñez Yáñez',
    ],
    ['Portuguese', 'windows-1252', 'João Conceição Gonçalves Gonçalo Simões'],
    ['Danish', 'windows-1252', 'Søren Jørgen Åse Kjær'],
    ['Swedish', 'windows-1252', 'Åsa Håkan Göran Björn Sjöberg Öberg'],
    [
      'German, French and Spanish',
      'windows-1252',
      'Müller Groß José Núñez Ibáñez Hélène François Gonçalves Noël Zoë Joël',
    ],
    ['Polish', 'windows-1250', 'Łukasz Kamiński Wiśniewski Żak Paweł Wałęsa'],
    ['Slovak', 'windows-1250', 'Kováč Ľuboš Tkáčová Gašparovič Tŕnka Ďurica Ťažký Novotný'],
    ['Czech', 'windows-1250', 'Dvořák Černý Němec Růžička Novák Jiří'],
    ['Hungarian', 'windows-1250', 'Erdős Kovács Németh Szűcs Gergő Görög Török Szűts Fűzi Kőműves Ödön Öcsi'],
    ['Polish by ISO', 'iso-8859-2', 'Łukasz Kamiński Wiśniewski Żak Paweł'],
    ['Russian', 'windows-1251', 'Иванов Петрова Сергей Мария Юлия'],
    ['Russian in capitals', 'windows-1251', 'ИВАНОВ ПЕТРОВА СЕРГЕЙ МАРИЯ'],
    ['Bulgarian', 'windows-1251', 'Димитров Георгиева Ивайло Стоян Пенчо'],
    ['Ukrainian', 'windows-1251', 'Шевченко Ігор Андрій Коваль Олексій'],
    ['Lithuanian', 'windows-1257', 'Kazlauskienė Žukauskas Šimkus Petraitytė Jūratė Žydrūnas Šarūnas Žilinskienė'],
    ['Latvian', 'windows-1257', 'Bērziņš Kļaviņa Ozoliņš Jānis Līga'],
    ['Turkish', 'windows-1254', 'Yılmaz Şahin Öztürk Çelik Yıldız Doğan Özgür Gül Çetin Ümit Işık'],
    ['German by an old Mac', 'macintosh', 'Müller Schröder Jäger Günther Größe'],
    ['German by DOS', 'cp850', 'Müller Schröder Jäger Günther Größe'],
    ['Greek', 'windows-1253', 'Γιώργος Νίκος Ελένη'],
    [
      'Spanish in capitals',
      'windows-1252',
      'MUÑOZ PEÑA GARCÍA MARTÍNEZ FERNÁNDEZ LÓPEZ RODRÍGUEZ PÉREZ NÚÑEZ IBÁÑEZ YÁÑEZ',
    ],
    ['Japanese', 'shift_jis', '山田 太郎 佐藤 花子 すずき タナカ'],
  ])('%s in %s', (_what, encoding, words) => {
    expect(guess(words, encoding).map((reading) => reading.encoding)).toEqual([encoding])
  })
})

describe('several remaining readings are all shown', () => {
  test.each([
    ['Norwegian by one letter', 'windows-1252', 'Bjørn Søren', 'windows-1250', 'Bjřrn'],
    ['French and Danish', 'windows-1252', 'Jørgen Thérèse Sánchez Aurélie Chloé', 'windows-1250', 'Jřrgen'],
    ['Croatian and Slovak', 'windows-1250', 'Novaković Ďurica Németh', 'windows-1252', 'Novakoviæ'],
    ['Spanish by one word', 'windows-1252', 'Peña', 'windows-1250', 'Peńa'],
    ['Polish by one letter', 'windows-1250', 'Kamiński Zieliński Müller', 'windows-1252', 'Kamiñski'],
    ['Lithuanian by one word', 'windows-1257', 'Jonaitė', 'windows-1252', 'Jonaitë'],
    ['Hebrew', 'windows-1255', 'כהן לוי מזרחי', 'windows-1251', 'лдп'],
  ])('%s in %s', (_what, encoding, words, other, misread) => {
    const readings = guess(words, encoding)

    const [first = ''] = words.split(' ')
    expect(readings.find((reading) => reading.encoding === encoding)?.words[0]).toBe(first)
    expect(readings.find((reading) => reading.encoding === other)?.words[0]).toBe(misread)
    for (const reading of readings) expect(reading.letters).not.toBe('')
  })
})

describe('what none of them reads well is never certain', () => {
  test.each([
    ['Russian for Unix', 'koi8-r', 'Иванов Петрова Сергей Мария'],
    ['Russian by DOS', 'cp866', 'Иванов Петрова Сергей Мария'],
    ['Chinese', 'gb18030', '张伟 王芳 李娜 刘洋 陈静'],
    ['Korean', 'euc-kr', '김민준 이서연 박지훈'],
    ['Chinese of Taiwan', 'big5', '陳怡君 林志明 黃淑芬'],
    ['Japanese for Unix', 'euc-jp', '山田 太郎 佐藤 花子'],
    ['Czech by DOS', 'cp852', 'Dvořák Černý Němec Růžička'],
    ['Arabic', 'windows-1256', 'محمد أحمد فاطمة'],
    ['Thai', 'windows-874', 'สมชาย สมหญิง วิชัย'],
  ])('%s in %s', (_what, encoding, words) => {
    expect(guess(words, encoding)).not.toHaveLength(1)
  })
})

test.each([
  ['an apostrophe', 'O’Brien'],
  ['a square', 'm²-Preis'],
  ['a dash', 'Sales\u00A0–\u00A0Europe'],
  ['blanks that do not break', 'Ana\u00A0Berg'],
])('%s alone is read as windows-1252', (_what, cell) => {
  expect(guess(cell, 'windows-1252').map(({ encoding }) => encoding)).toEqual(['windows-1252'])
})

test('words that are strange in every reading do not spoil the right one', () => {
  const many = Array.from(
    { length: 60 },
    (_, row) => `Dvoř${'abcdefgh'[row % 8]}${'ijklmnop'[Math.floor(row / 8)]}ák`,
  ).join(' ')
  expect(guess(`${many} Zoë McŠek François`, 'windows-1250').map(({ encoding }) => encoding)).toEqual(['windows-1250'])
})
