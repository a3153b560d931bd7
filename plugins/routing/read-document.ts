import type { Action, Condition, JsonObject } from '../../core/contract/index.ts'
import { createLazyTypeGuard } from '../../core/schema.ts'

export type ReadDocument = { readonly value: JsonObject } | { readonly faults: readonly string[] }

/**
 * Reads `match_json` or `action_json` by the words that there are: the document as it is stored, or all that is wrong
 * with it. An unknown word is a fault: a misspelt condition would match everything.
 */
export function createDocumentReader(kind: string, words: ReadonlyMap<string, Condition | Action>) {
  const checks = new Map<string, (value: unknown) => boolean>()

  function checkOf(word: Condition | Action): (value: unknown) => boolean {
    const check = checks.get(word.name) ?? createLazyTypeGuard(word.schema)
    checks.set(word.name, check)
    return check
  }

  return (document: JsonObject): ReadDocument => {
    const faults: string[] = []
    const value: Record<string, unknown> = {}
    for (const [name, given] of Object.entries(document)) {
      const word = words.get(name)
      if (word === undefined)
        faults.push(`${name} is not ${kind}. Known are ${[...words.keys()].join(', ')}.`)
      else if (!checkOf(word)(given)) faults.push(`${name} must be ${word.description}.`)
      else value[name] = word.normalise ? word.normalise(given) : given
    }
    return faults.length > 0 ? { faults } : { value }
  }
}

/** JSON schema of the documents that these words make. */
export function documentSchema(words: ReadonlyMap<string, Condition | Action>): JsonObject {
  const properties = [...words.values()].map(({ name, description, schema }) => [
    name,
    { description: description, ...schema },
  ])
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
}
