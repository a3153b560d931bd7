import type { ApiLimits, TextLimit } from '../../core/contract/index.ts'
import { ADAPTERS } from '../../providers/adapters.ts'

/** The rows of the table: each field of `ApiLimits`, and what the gateway does about it. */
const ROWS = {
  toolNames: ['names of tools', 'shortened, with a hash; restored in replies'],
  callIds: ['ids of calls in messages', 'replaced by a hash'],
  authorNames: ['`name` of messages', 'other characters become `_`'],
  schemaNames: ['name of a `json_schema`', 'shortened, with a hash'],
  ids: ['`user`, `safety_identifier`, `prompt_cache_key`', 'hashed'],
  metadata: ['`metadata` with `store: true`', 'other entries are left out, with a warning'],
  stops: ['stop sequences', 'further ones are left out, with a warning'],
  seeds: ['`seed`', 'mapped into the range, with a warning'],
  refusedAtRoot: ["not at the root of a tool's schema", 'merged into one object, with a warning'],
  strictSchemas: [
    '`strict` schemas',
    'others are not allowed where the schema does not say; else sent as not strict, with a warning',
  ],
  tools: ['tools of a request', 'refused by the provider'],
  embeddings: ['texts of an embeddings request', 'divided into several requests'],
} satisfies Readonly<Record<keyof ApiLimits, readonly [string, string]>>

/** Writes the table of docs/providers.md, "Limits". */
export function writeLimitsTable(): string {
  const head = ['limit', ...ADAPTERS.map(({ format }) => format), 'otherwise']
  const rows = Object.entries(ROWS).map(([field, [title, effect]]) => [
    title,
    ...ADAPTERS.map(({ limits }) => show(field as keyof ApiLimits, limits?.[field as keyof ApiLimits])),
    effect,
  ])
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function show(field: keyof ApiLimits, limit: ApiLimits[keyof ApiLimits]): string {
  if (limit === undefined) return ''
  switch (field) {
    case 'metadata': {
      const { entries, keyChars, valueChars } = limit as NonNullable<ApiLimits['metadata']>
      return `${entries} texts of ${valueChars} characters, with keys of ${keyChars}`
    }
    case 'seeds': {
      const { min, max } = limit as NonNullable<ApiLimits['seeds']>
      return `${min} to ${max}`
    }
    case 'refusedAtRoot':
      return (limit as readonly string[]).map((keyword) => `\`${keyword}\``).join(', ')
    case 'strictSchemas':
      return 'all properties required, no others, no `default` and the like'
    case 'embeddings': {
      const { inputs, tokens } = limit as NonNullable<ApiLimits['embeddings']>
      return tokens === undefined ? `${inputs}` : `${inputs}, of ${tokens} tokens together`
    }
    case 'stops':
    case 'tools':
      return `${limit}`
    default:
      return `\`${(limit as TextLimit).pattern.source.replaceAll('|', '\\|')}\``
  }
}
