import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

/**
 * Returns a claim by its name, or by its path: Keycloak has roles at `realm_access.roles`. A claim of the
 * whole name wins, because names may be URLs.
 */
export function readClaim(claims: JsonObject, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const name of path.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/** Returns the texts of a claim that is a text or a list. */
export function readTexts(claims: JsonObject, path: string): readonly string[] {
  const value = readClaim(claims, path)
  return [value].flat().filter((item): item is string => typeof item === 'string' && item !== '')
}

/** Whether a claim is the required value, or a list that has it. */
export function hasClaim(claims: JsonObject, path: string, required: unknown): boolean {
  const value = readClaim(claims, path)
  return isDeepStrictEqual(value, required) || (Array.isArray(value) && value.includes(required))
}

/** Entra leaves a list that is too long out of the token, and says where it can be asked for. */
export function isLeftOut(claims: JsonObject, path: string): boolean {
  const names = claims._claim_names
  return isJsonObject(names) && Object.hasOwn(names, path)
}
