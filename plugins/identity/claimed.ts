import type { JsonObject } from '../../core/contract/index.ts'
import { cutName, hasClaim, isLeftOut, readTexts } from './claims.ts'
import { identityError } from './errors.ts'
import type { Claimed } from './known-users.ts'
import type { CallerSettings } from './settings.ts'

/** Returns what verified claims say of a user, by the settings of their issuer; 401 without a subject. */
export function readClaimed(
  claims: JsonObject,
  { issuer, user = {}, groups }: Pick<CallerSettings, 'issuer' | 'user' | 'groups'>,
): Claimed {
  const { id = 'sub', name = 'email', plan = 'free' } = user
  const [subject] = readTexts(claims, id)
  if (subject === undefined) throw invalidError(`Its claim ${id} is wrong or missing.`)
  const shown = readTexts(claims, name)[0] ?? subject
  return {
    issuer,
    subject,
    name: cutName(shown),
    plan,
    issuedAt: readIssuedAt(claims),
    groups: groups && readGroups(claims, groups),
    createsUsers: user.create ?? true,
    createsGroups: groups?.create ?? false,
  }
}

/** Whether claims have what the settings of their issuer require. */
export function hasRequired(claims: JsonObject, { require = {} }: Pick<CallerSettings, 'require'>): boolean {
  return Object.entries(require).every(([path, value]) => hasClaim(claims, path, value))
}

/** Returns the names of the groups of a token. Without a map, the claim has names. */
function readGroups(
  claims: JsonObject,
  { claim, map }: NonNullable<CallerSettings['groups']>,
): readonly string[] {
  if (isLeftOut(claims, claim)) throw invalidError(`Its claim ${claim} was left out: it has too many groups.`)
  const values = readTexts(claims, claim)
  return map ? values.flatMap((value) => (Object.hasOwn(map, value) ? (map[value] ?? []) : [])) : values
}

/** Returns when a token was issued, in seconds, not later than now: no other one would be newer. */
function readIssuedAt({ iat }: JsonObject): number | undefined {
  if (typeof iat !== 'number') return undefined
  return Math.max(0, Math.min(Math.floor(iat), Math.floor(Date.now() / 1000)))
}

export function invalidError(problem: string) {
  return identityError('token_invalid', `The token is not valid here. ${problem}`)
}
