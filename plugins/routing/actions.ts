import { LRUCache } from 'lru-cache'
import {
  type Action,
  isJsonObject,
  MODE_SPELLINGS,
  parseMode,
  type Warning,
} from '../../core/contract/index.ts'

const text = { type: 'string', minLength: 1 }

/** Made once, so that thousands of requests that are remembered share them. */
const warnings = new LRUCache<string, Warning>({ max: 1000 })

function warningOf(message: string): Warning {
  const known = warnings.get(message)
  if (known !== undefined) return known
  const warning: Warning = { code: 'routing', message }
  warnings.set(message, warning)
  return warning
}

/** The built-in keys of `action_json` (interface: "action_json actions"); `set_provider` takes one of the given providers. */
export function createActions(providers: ReadonlySet<string>): readonly Action[] {
  return [
    {
      name: 'set_provider',
      schema: { type: 'string', enum: [...providers] },
      description: `one of ${[...providers].join(', ')}`,
      combine: 'first',
      apply(value, draft) {
        draft.provider = String(value)
      },
    },
    {
      name: 'set_model',
      schema: { type: 'string', pattern: '^[!-~]{1,256}$' },
      description: 'the full name of a model',
      combine: 'first',
      apply(value, draft) {
        draft.model = String(value)
      },
    },
    {
      name: 'set_mode',
      schema: { type: 'string', enum: MODE_SPELLINGS },
      description: `one of ${MODE_SPELLINGS.join(', ')}`,
      normalise: (value) => parseMode(String(value)),
      combine: 'first',
      apply(value, draft) {
        const mode = parseMode(String(value))
        if (mode !== undefined) draft.mode = mode
      },
    },
    {
      name: 'add_warning',
      schema: {
        type: ['string', 'object'],
        minLength: 1,
        required: ['message'],
        properties: { message: text },
      },
      description: 'a text or an object {"message": <text>}',
      combine: 'all',
      apply(value, draft) {
        draft.warnings.push(warningOf(isJsonObject(value) ? String(value.message) : String(value)))
      },
    },
  ]
}
