import type { JsonObject } from '../../../core/contract/index.ts'
import { readObjects } from '../../read-fields.ts'
import { Refusal } from '../refusal.ts'

// As of the API reference of November 2026.
const BODY = split(
  `model messages max_tokens system stream tools tool_choice temperature top_p top_k stop_sequences metadata thinking
  output_config service_tier cache_control container diagnostics inference_geo speed`,
)
const MESSAGE = split('role content')
const BLOCKS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: split('type text cache_control citations'),
  image: split('type source cache_control transformations'),
  document: split('type source cache_control citations context title'),
  tool_use: split('type id name input cache_control caller toolset_name'),
  tool_result: split('type tool_use_id content is_error cache_control toolset_name'),
}

/** Throws a `Refusal` (400) for the first field that Anthropic's requests do not have. */
export function checkFields(body: JsonObject): void {
  check(body, BODY, '')
  for (const [index, message] of readObjects(body.messages).entries()) {
    check(message, MESSAGE, `messages.${index}.`)
    for (const [place, block] of readObjects(message.content).entries()) {
      const known = BLOCKS[String(block.type)]
      if (known) check(block, known, `messages.${index}.content.${place}.`)
    }
  }
}

function check(fields: JsonObject, known: ReadonlySet<string>, path: string): void {
  const unknown = Object.keys(fields).find((name) => !known.has(name))
  if (unknown !== undefined) throw new Refusal(400, `${path}${unknown}: Extra inputs are not permitted`)
}

function split(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}
