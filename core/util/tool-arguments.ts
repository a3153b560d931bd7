import type { JsonObject } from '../contract/json.ts'
import { digestOf } from './canonical-json.ts'

/** Most texts have no number that could be inexact. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]/

/**
 * Returns the numbers of a JSON text that a double cannot hold, as they are written: `JSON.parse` makes
 * 9007199254740992 of 9007199254740993, but others may not.
 */
export function findInexactNumbers(json: string): readonly string[] {
  if (!MAY_BE_INEXACT.test(json)) return NONE
  const found: string[] = []
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g))
    if (token[0] !== '"' && normalize(token) !== normalize(String(Number(token)))) found.push(token)
  return found
}

const NONE: readonly string[] = []

/** Returns significant digits and exponent. Signs are the same in what is compared. */
function normalize(number: string): string {
  const parts = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number)
  if (parts === null) return number
  const [, whole = '', fraction = '', exponent = '0'] = parts
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  while (digits[start] === '0') start++
  while (end > start && digits[end - 1] === '0') end--
  const shift = Number(exponent) - fraction.length + (digits.length - end)
  return start === end ? '0' : `${digits.slice(start, end)}e${shift}`
}

/** Returns the digest that is the same for equal arguments: of their JSON value, as long as that is exact. */
export function digestOfArguments(args: JsonObject, json: string | undefined): string {
  const isExact = json === undefined || findInexactNumbers(json).length === 0
  return digestOf(isExact ? args : [args, json])
}
