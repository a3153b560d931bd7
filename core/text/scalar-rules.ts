import { INSPECTED, type Position, type ScalarRule } from './position.ts'

const MAX_PARAMETER_LENGTH = 7

/** A string in place of a number. A word of seven letters would be exempt otherwise. */
const NUMBER_TEXT = /^[\d.+-]{0,7}$/

const SIGNATURE = /^[A-Za-z0-9+/_=-]{64,}$/

/** Roles, types, ids and names. Prose in their place would reach the model. */
const NAME = /^[!-~]{0,256}$/

/** Whether rules do not inspect a text at a position. JSON and media are inspected in ways of their own. */
export function isExemptText(text: string, rule: ScalarRule): boolean {
  switch (rule) {
    case 'text':
    case 'json':
    case 'media':
    case 'url':
      return false
    case 'exempt':
      return NAME.test(text)
    case 'unsent':
      return true
    case 'signature':
      return SIGNATURE.test(text)
    case 'parameter':
      return NUMBER_TEXT.test(text)
    default:
      return rule.has(text)
  }
}

/** Whether rules do not inspect a number, given as text. */
export function isExemptNumber(text: string, rule: ScalarRule): boolean {
  return (
    rule === 'exempt' || rule === 'unsent' || (rule === 'parameter' && text.length <= MAX_PARAMETER_LENGTH)
  )
}

/** The position of the items of a list. An id or a role is exempt, a list of texts in its place is not. */
export function positionOfItems(position: Position): Position {
  return position.scalar === 'exempt' && position.fields === undefined ? INSPECTED : position
}
