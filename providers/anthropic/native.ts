import type { ChatRequest } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { Target } from '../../core/contract/provider.ts'
import { namesTarget } from '../../core/util/named-target.ts'
import { asObject, asString } from '../shared/fields.ts'

/** What a request holds in Anthropic's own format. */
export interface NativeFields {
  /** The request was written in Anthropic's format and names the target's model. */
  readonly isForModel: boolean
  /** Fields of the body that the canonical request has no place for. */
  readonly fields: JsonObject
  readonly headers: Readonly<Record<string, string>>
}

const DEFAULT_VERSION = '2023-06-01'

/** The form of names in headers. A rule may have masked others. */
const NAME = /^[\w.-]{1,100}$/

export function parseNativeFields({ model, extra_content }: ChatRequest, target: Target): NativeFields {
  const native = extra_content?.anthropic
  const { version, betas, fields } = asObject(native)
  const names = (Array.isArray(betas) ? betas : []).filter((beta) => NAME.test(asString(beta)))
  return {
    isForModel: native !== undefined && namesTarget(model, target),
    fields: asObject(fields),
    headers: {
      'anthropic-version': NAME.test(asString(version)) ? asString(version) : DEFAULT_VERSION,
      ...(names.length > 0 && { 'anthropic-beta': names.join(',') }),
    },
  }
}
