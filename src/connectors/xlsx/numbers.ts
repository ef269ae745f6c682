const number = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/
/** How many digits Excel shows and calculates with. Further ones are the rounding of binary fractions. */
const preciseDigits = 15

/**
 * A number as Excel shows it in a wide cell without a format: all digits, no exponent, no rounding of binary fractions. A whole number keeps
 * the digits that are stored. Null: the text is no number.
 */
export function plainNumber(stored: string): string | null {
  const [match, sign = '', whole = '', fraction = '', exponent = '0'] = number.exec(stored) ?? []
  if (match === undefined || whole + fraction === '') return null
  const exact = shiftPoint(whole, fraction, Number(exponent))
  const text = exact.includes('.') && countDigits(exact) > preciseDigits ? roundNumber(Number(stored)) : exact
  return sign === '-' && text !== '0' ? `-${text}` : text
}

/** The digits with the decimal point moved by the exponent; without zeros at the end of a fraction. */
function shiftPoint(whole: string, fraction: string, exponent: number): string {
  const digits = whole + fraction
  const point = whole.length + exponent
  const padded = point <= 0 ? digits.padStart(digits.length - point + 1, '0') : digits.padEnd(point, '0')
  const at = Math.max(point, 1)
  const head = padded.slice(0, at)
  const tail = padded.slice(at).replace(/0+$/, '')
  // Digits that were moved may have zeros in front; a whole number as it is stored may be a key with zeros.
  const shown = exponent === 0 && tail === '' ? head : head.replace(/^0+(?=\d)/, '')
  return tail === '' ? shown : `${shown}.${tail}`
}

function roundNumber(value: number): string {
  const [, , whole = '', fraction = '', exponent = '0'] =
    number.exec(Math.abs(value).toExponential(preciseDigits - 1)) ?? []
  return shiftPoint(whole, fraction, Number(exponent))
}

function countDigits(text: string): number {
  return text.replace('.', '').replace(/^0+/, '').length
}
