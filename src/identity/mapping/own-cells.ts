import { datesAs } from '../causes.ts'
import type { Property, PropertyType } from '../shape/property.ts'
import { blankReader, booleanReader, type CellFault, type CellReader, isFault, type OnBlank } from './cells.ts'
import type { DateFormatOptions } from './date-formats.ts'
import { causeOf, dateExplainer, hintText } from './date-hints.ts'
import { dateReader, instantReader } from './dates.ts'
import { foldValue } from './fold-value.ts'

type OwnOptions = DateFormatOptions & {
  readonly property: Property
  readonly onBlank: OnBlank
  readonly map?: Readonly<Record<string, string | number | boolean | null>>
  readonly trim: boolean
  readonly lowercase: boolean
  readonly separator: string
  readonly decimal: '.' | ','
  readonly format: string | readonly string[]
  readonly offsetDays: number
}

type ItemReader = (text: string, timeZone: string) => string | boolean | CellFault

const controlCharacter = /[\p{Cc}--[\n\t]]/v

/** Reads a cell by the type of its property. A list becomes its JSON text, and a number the text that JavaScript writes. */
export function ownReader(options: OwnOptions): CellReader<string | boolean> {
  const { property, onBlank, map, separator } = options
  const ofBlank = blankReader(onBlank)
  const item = map === undefined ? itemReader(options) : mappedItem(map, property.type)
  const ofNothing = !property.isList && map !== undefined && Object.keys(map).some((from) => from.trim() === '')
  return (cell, timeZone) => {
    const text = options.trim || cell.trim() === '' ? cell.trim() : cell
    if (text === '' && !ofNothing) return ofBlank()
    if (!property.isList) {
      const value = item(text, timeZone)
      return value === nothing ? null : value
    }
    const items = text
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => item(part, timeZone))
      .filter((value) => value !== nothing)
    const fault = items.find(isFault)
    return fault ?? JSON.stringify(items.map((value) => (isNumber(property.type) ? Number(value) : value)))
  }
}

function isNumber(type: PropertyType): boolean {
  return type === 'number' || type === 'integer'
}

/** Stands for "no value" among the values of a map. No cell contains a control character. */
const nothing = '\u0000'

function mappedItem(map: Readonly<Record<string, string | number | boolean | null>>, type: PropertyType): ItemReader {
  const values = new Map(
    Object.entries(map).map(([from, to]) => [
      foldValue(from),
      to === null
        ? nothing
        : type === 'boolean'
          ? String(to) === 'true'
          : isNumber(type)
            ? String(Number(to))
            : String(to),
    ]),
  )
  const expected = Object.keys(map).join(', ')
  const reason = `the cell holds a value that the mapping does not list; listed are ${expected}`
  return (text) => values.get(foldValue(text)) ?? values.get('*') ?? { reason, cause: 'unlistedValue', expected }
}

function itemReader({
  property,
  lowercase,
  decimal,
  format,
  offsetDays: addDays,
  ...formatOptions
}: OwnOptions): ItemReader {
  switch (property.type) {
    case 'string':
      return (text) => ownText(text, lowercase)
    case 'number':
    case 'integer':
      return numberReader(property.type, decimal)
    case 'boolean': {
      const read = booleanReader({ onBlank: 'reject' })
      return (text, timeZone) => {
        const value = read(text, timeZone)
        return typeof value === 'boolean'
          ? value
          : { reason: 'the cell holds neither yes nor no', cause: 'neitherYesNorNo' }
      }
    }
    case 'date': {
      const formats = [format].flat()
      const read = dateReader(formats, { ...formatOptions, addDays })
      const noDate = dateFaults(formats, formatOptions)
      return (text, timeZone) => read(text, timeZone) ?? noDate(text)
    }
    case 'date-time': {
      const formats = [format].flat()
      const read = instantReader(formats, { ...formatOptions, addDays })
      const noDate = dateFaults(formats, formatOptions)
      return (text, timeZone) => read(text, timeZone) ?? noDate(text)
    }
    default:
      return property.type satisfies never
  }
}

function ownText(text: string, lowercase: boolean): string | CellFault {
  if (!text.isWellFormed())
    return { reason: 'the cell holds half of a character (a lone surrogate)', cause: 'damagedCharacter' }
  if (controlCharacter.test(text)) return { reason: 'the cell holds a control character', cause: 'controlCharacter' }
  const composed = text.normalize('NFC')
  return lowercase ? composed.toLowerCase() : composed
}

/** Reads a number with `decimal` as its point, and optionally the other sign between groups of three digits. */
function numberReader(type: 'number' | 'integer', decimal: '.' | ','): ItemReader {
  const [point, group] = decimal === '.' ? ['\\.', ','] : [',', '\\.']
  const pattern = new RegExp(`^[+-]?(\\d+|\\d{1,3}(${group}\\d{3})+)(${point}\\d+)?$`)
  const noNumber: CellFault = {
    reason: `the cell holds no number (with "${decimal}" before its part)`,
    cause: 'noNumber',
    expected: `with "${decimal}" before its decimals`,
  }
  return (text) => {
    if (!pattern.test(text)) return noNumber
    const plain = decimal === '.' ? text.replaceAll(',', '') : text.replaceAll('.', '').replace(',', '.')
    const value = Number(plain)
    const whole = Number.isInteger(value)
    if (whole && !Number.isSafeInteger(value))
      return { reason: 'the cell holds a number that is too large', cause: 'numberTooLarge' }
    if (type === 'integer' && !whole) return { reason: 'the cell holds no whole number', cause: 'noWholeNumber' }
    return String(value)
  }
}

/** Why a cell is not a date as declared. The cell is not quoted: an own property may be anything about the person. */
function dateFaults(formats: readonly string[], formatOptions: DateFormatOptions): (text: string) => CellFault {
  const declared = { formats, ...formatOptions, isField: true }
  const explain = dateExplainer(declared)
  const problem = `what the cell holds is not a date (${formats.join(' or ')})`
  const expected = datesAs(formats)
  return (text) => {
    const { hint } = explain(text)
    return { reason: `${problem}: ${hintText(hint, declared)}`, knownAs: problem, cause: causeOf(hint), expected }
  }
}
