import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { load } from 'js-yaml'
import type { Logger } from 'pino'
import {
  isJsonObject,
  type JsonObject,
  type Static,
  StrictObject,
  Type,
} from '../../../core/contract/index.ts'
import { errorMessage } from '../../../core/util/error-message.ts'
import { createLazyParser } from '../../../core/util/json-schema.ts'

const names = Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })

/** The file that `identity.claude_code.settings` names (docs/guides/claude-code.md). */
const PolicyFile = StrictObject({
  policies: Type.Array(
    StrictObject({
      /** A user must fulfil all of it. Empty: every user. */
      match: StrictObject({
        groups: Type.Optional(names),
        email_domain: Type.Optional(Type.String({ minLength: 1 })),
      }),
      /** As in Claude Code's settings.json. */
      cli: Type.Record(Type.String(), Type.Unknown()),
    }),
  ),
})

type Policy = Static<typeof PolicyFile>['policies'][number]

/** Who asks for settings. */
export interface SettingsUser {
  readonly name: string
  /** Names of the groups. */
  readonly groups: readonly string[]
}

export interface ManagedSettings {
  readonly settings: JsonObject
  /** `sha256:` and the digest, which Claude Code computes in the same way. */
  readonly checksum: string
}

/** Settings of Claude Code by group, from a file that is read again when it changes. */
export interface SettingsSource {
  /** Undefined if no policy is about the user. */
  of(user: SettingsUser): ManagedSettings | undefined
}

/** Throws if the file cannot be read. Later, mistakes are logged, and the former content stays in force. */
export function openSettingsSource(file: string, logger: Logger): SettingsSource {
  let stamp = stampOf(file)
  let policies = readPolicies(file)

  function readAgain(): void {
    const current = stampOf(file)
    if (current === stamp) return
    stamp = current
    try {
      policies = readPolicies(file)
    } catch (error) {
      logger.error({ reason: errorMessage(error) }, 'settings of Claude Code not read; the former ones apply')
    }
  }

  return {
    of(user) {
      readAgain()
      const common = policies.find(({ match }) => Object.keys(match).length === 0)
      const first = policies.find(({ match }) => isMatch(match, user))
      if (first === undefined) return undefined
      // The casts are safe: they were parsed from YAML or JSON.
      const own = first.cli as JsonObject
      const settings = common && common !== first ? mergeSettings(common.cli as JsonObject, own) : own
      return { settings, checksum: checksumOf(settings) }
    },
  }
}

function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
}

function readPolicies(file: string): readonly Policy[] {
  try {
    return createLazyParser(PolicyFile)(load(readFileSync(file, 'utf8'))).policies
  } catch (cause) {
    throw new Error(`${file} has no valid policies of Claude Code: ${errorMessage(cause)}`, { cause })
  }
}

function isMatch({ groups, email_domain: domain }: Policy['match'], user: SettingsUser): boolean {
  const isInGroups = groups === undefined || groups.some((name) => user.groups.includes(name))
  return isInGroups && (domain === undefined || user.name.toLowerCase().endsWith(`@${domain.toLowerCase()}`))
}

/** Lists that restrict are united, maps are merged by key. Of everything else, the group's own counts. */
const UNITED: ReadonlySet<string> = new Set([
  ...['permissions.deny', 'permissions.ask', 'allowedMcpServers', 'deniedMcpServers'],
  ...['strictKnownMarketplaces', 'blockedMarketplaces'],
])
const MERGED: ReadonlySet<string> = new Set([
  'env',
  'permissions',
  'hooks',
  'modelOverrides',
  'skillOverrides',
])

function mergeSettings(common: JsonObject, own: JsonObject, path = ''): JsonObject {
  const merged: Record<string, unknown> = { ...common }
  for (const [name, value] of Object.entries(own)) {
    const before = Object.hasOwn(common, name) ? common[name] : undefined
    const key = path + name
    const isList = Array.isArray(before) && Array.isArray(value)
    if (isList && (UNITED.has(key) || path === 'hooks.'))
      merged[name] = [...new Map([...before, ...value].map((item) => [sortedJson(item), item])).values()]
    else if (isJsonObject(before) && isJsonObject(value) && (MERGED.has(key) || path === 'hooks.'))
      merged[name] = mergeSettings(before, value, `${key}.`)
    else merged[name] = value
  }
  return merged
}

/** Claude Code sends this of its copy as `If-None-Match`. */
function checksumOf(settings: JsonObject): string {
  return `sha256:${createHash('sha256').update(sortedJson(settings)).digest('hex')}`
}

/** JSON with the keys of all objects in order. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isJsonObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
}
