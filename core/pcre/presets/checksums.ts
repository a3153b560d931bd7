/** The checksums of numbers. All take the letters and digits of a number, in upper case. */

const digitsOf = (digits: string): readonly number[] => [...digits].map(Number)

const allEqual = (digits: string): boolean => new Set(digits).size === 1

/** Luhn: payment cards, Canadian SIN, Swedish personal numbers. */
export function isLuhn(digits: string): boolean {
  const sum = digitsOf(digits)
    .toReversed()
    .reduce((total, digit, index) => {
      const doubled = digit * 2
      return total + (index % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled)
    }, 0)
  return sum % 10 === 0 && !allEqual(digits)
}

/** ISO 7064 mod 97: IBAN. Letters count from A = 10. */
export function isMod97(iban: string): boolean {
  const rearranged = iban.slice(4) + iban.slice(0, 4)
  let remainder = 0
  for (const character of rearranged) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder === 1
}

function weightedSum(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, index) => sum + weight * Number(digits.charAt(index)), 0)
}

/** British NHS number: mod 11. */
export function isNhsNumber(digits: string): boolean {
  const check = 11 - (weightedSum(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)
  return check !== 10 && check % 11 === Number(digits.charAt(9)) && !allEqual(digits)
}

/** Dutch BSN: the eleven-test. */
export function isBsn(digits: string): boolean {
  return weightedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0 && !allEqual(digits)
}

/** French NIR: 97 minus the number mod 97. Corsican departments are 2A and 2B. */
export function isNir(nir: string): boolean {
  const number = nir.slice(0, 13).replace('2A', '19').replace('2B', '18')
  return 97 - (Number(number) % 97) === Number(nir.slice(13))
}

/** Spanish DNI and NIE: a letter for the number mod 23. */
export function isDni(dni: string): boolean {
  const number = Number(dni.slice(0, -1).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter))))
  return 'TRWAGMYFPDXBNJZSQVHLCKE'.charAt(number % 23) === dni.slice(-1)
}

/** German tax id: ISO 7064 mod 11,10. */
export function isGermanTaxId(digits: string): boolean {
  let product = 10
  for (const digit of digitsOf(digits.slice(0, 10))) {
    const sum = (digit + product) % 10 || 10
    product = (sum * 2) % 11
  }
  const hasRepetition = new Set(digits.slice(0, 10)).size < 10
  return (11 - product) % 10 === Number(digits.charAt(10)) && hasRepetition
}

/** Belgian national number: 97 minus the number mod 97, with a 2 in front for births from 2000. */
export function isBelgianNumber(digits: string): boolean {
  const check = Number(digits.slice(9))
  return [digits.slice(0, 9), `2${digits.slice(0, 9)}`].some((number) => 97 - (Number(number) % 97) === check)
}

/** Polish PESEL. */
export function isPesel(digits: string): boolean {
  const sum = weightedSum(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3])
  return (10 - (sum % 10)) % 10 === Number(digits.charAt(10)) && !allEqual(digits)
}

/** Brazilian CPF: two digits mod 11. */
export function isCpf(digits: string): boolean {
  const checkDigit = (length: number) => {
    const weights = Array.from({ length }, (_, index) => length + 1 - index)
    return ((weightedSum(digits, weights) * 10) % 11) % 10
  }
  return (
    checkDigit(9) === Number(digits.charAt(9)) &&
    checkDigit(10) === Number(digits.charAt(10)) &&
    !allEqual(digits)
  )
}

/** Swiss AHV number: the check digit of EAN-13. */
export function isEan13(digits: string): boolean {
  return weightedSum(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0
}

/** Australian tax file number: mod 11. */
export function isTfn(digits: string): boolean {
  return weightedSum(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0 && !allEqual(digits)
}

/** Indian Aadhaar number: Verhoeff, in the dihedral group of the pentagon. */
export function isVerhoeff(digits: string): boolean {
  const check = digitsOf(digits)
    .toReversed()
    .reduce((sum, digit, index) => multiply(sum, permute(digit, index % 8)), 0)
  return check === 0 && !allEqual(digits)
}

function multiply(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b - 5) % 5)
  return b < 5 ? 5 + ((a - 5 - b + 5) % 5) : (a - b + 5) % 5
}

function permute(digit: number, times: number): number {
  let permuted = digit
  for (let round = 0; round < times; round++) permuted = Number('1576283094'.charAt(permuted))
  return permuted
}

/** Italian codice fiscale: values of odd and even places mod 26. */
export function isCodiceFiscale(code: string): boolean {
  const sum = [...code.slice(0, 15)].reduce((total, character, index) => {
    const value = /\d/.test(character) ? Number(character) : character.charCodeAt(0) - 65
    return total + (index % 2 === 0 ? (ODD_VALUES[value] ?? 0) : value)
  }, 0)
  return String.fromCharCode(65 + (sum % 26)) === code.charAt(15)
}

const ODD_VALUES = [
  1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
]
