import type { JsonObject } from '../contract/index.ts'
import { rewriteMedia } from './media-text.ts'
import { INSPECTED, type Position } from './position.ts'
import { isExemptNumber, isExemptText, positionOfItems } from './scalar-rules.ts'
import { rewriteUrl } from './url-text.ts'

/** Receives the texts of a request that rules inspect. */
export interface TextVisitor {
  visitText(text: string): void
  /** Called for a text that may be a JSON document. */
  visitJson(text: string): void
}

/**
 * Visits every text of a value that rules inspect: those that `mapRequest` rewrites, in the same order. A
 * walk of its own, because nearly every request is only inspected, and rewriting takes twice as long.
 */
export function visitTexts(value: unknown, position: Position, visitor: TextVisitor): void {
  if (typeof value === 'string') visitString(value, position, visitor)
  else if (typeof value === 'number') visitNumber(value, position, visitor)
  else if (typeof value !== 'object' || value === null || position.scalar === 'unsent') return
  else if (Array.isArray(value)) {
    const itemPosition = positionOfItems(position)
    for (let index = 0; index < value.length; index++) visitTexts(value[index], itemPosition, visitor)
  } else visitFields(value as JsonObject, position, visitor)
}

function visitFields(value: JsonObject, basePosition: Position, visitor: TextVisitor): void {
  const position = basePosition.select?.(value) ?? basePosition
  const { fields, others = INSPECTED, names = 'text' } = position
  // Half the cost of Object.entries, for every message of every request. Parsed JSON inherits no fields.
  for (const name in value) {
    const known = fields?.get(name)
    if (known === undefined && !isExemptText(name, names)) visitor.visitText(name)
    const field = value[name]
    if (typeof field !== 'boolean') visitTexts(field, known ?? others, visitor)
  }
}

function visitString(text: string, { scalar }: Position, visitor: TextVisitor): void {
  if (scalar === 'text') visitor.visitText(text)
  else if (scalar === 'json') visitor.visitJson(text)
  else if (scalar === 'media' || scalar === 'url') {
    const rewrite = scalar === 'media' ? rewriteMedia : rewriteUrl
    rewrite(text, (part) => {
      visitor.visitText(part)
      return part
    })
  } else if (!isExemptText(text, scalar)) visitor.visitText(text)
}

function visitNumber(value: number, { scalar }: Position, visitor: TextVisitor): void {
  if (scalar === 'exempt') return
  const text = String(value)
  if (!isExemptNumber(text, scalar)) visitor.visitText(text)
}
