import { isJsonObject, type JsonObject, MODE_SPELLINGS, readMode } from '../../core/contract/index.ts'
import { compileCheck } from '../../core/schema.ts'

/** Names of the actions of which the first matching rule wins. */
export const SETTERS = ['set_provider', 'set_model', 'set_mode'] as const

/** One key of `action_json` (interface: "action_json actions"). */
interface Action {
  readonly schema: JsonObject
  /** Completes "<name> must be …". */
  readonly says: string
  normalise?(value: unknown): unknown
}

const text = { type: 'string', minLength: 1 }

export type ActionReader = (action: JsonObject) => { value: JsonObject } | { faults: readonly string[] }

/** Reads `action_json`; `set_provider` takes one of the given providers. */
export function createActionReader(providers: ReadonlySet<string>): ActionReader {
  const actions: Readonly<Record<string, Action>> = {
    set_provider: {
      schema: { type: 'string', enum: [...providers] },
      says: `one of ${[...providers].join(', ')}`,
    },
    set_model: { schema: text, says: 'the full name of a model' },
    set_mode: {
      schema: { type: 'string', enum: MODE_SPELLINGS },
      says: `one of ${MODE_SPELLINGS.join(', ')}`,
      normalise: (value) => readMode(String(value)),
    },
    add_warning: {
      schema: {
        type: ['string', 'object'],
        minLength: 1,
        required: ['message'],
        properties: { message: text },
      },
      says: 'a text or an object {"message": <text>}',
    },
  }
  const checks = new Map(Object.entries(actions).map(([name, { schema }]) => [name, compileCheck(schema)]))

  return (given) => {
    const faults: string[] = []
    const value: Record<string, unknown> = {}
    for (const [name, setting] of Object.entries(given)) {
      const action = Object.hasOwn(actions, name) ? actions[name] : undefined
      if (action === undefined)
        faults.push(`${name} is not an action. Known are ${Object.keys(actions).join(', ')}.`)
      else if (checks.get(name)?.(setting))
        value[name] = action.normalise ? action.normalise(setting) : setting
      else faults.push(`${name} must be ${action.says}.`)
    }
    return faults.length > 0 ? { faults } : { value }
  }
}

/** The text of an `add_warning` in either form. */
export function warningText(action: unknown): string {
  return isJsonObject(action) ? String(action.message) : String(action)
}
