import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

/**
 * Returns a claim by its name, or by its path: Keycloak has roles at `realm_access.roles`. Names may have
 * dots themselves, as `kubernetes.io` has.
 */
export function readClaim(claims: JsonObject, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const inner = Object.hasOwn(claims, name) ? claims[name] : undefined
    const value = isJsonObject(inner) ? readClaim(inner, path.slice(dot + 1)) : undefined
    if (value !== undefined) return value
  }
  return undefined
}

/** Returns the texts of a claim that is a text or a list. */
export function readTexts(claims: JsonObject, path: string): readonly string[] {
  const value = readClaim(claims, path)
  return [value].flat().filter((item): item is string => typeof item === 'string' && item !== '')
}

/** Returns a text as the name of somebody or a group, without half of a surrogate pair at its end. */
export function cutName(text: string): string {
  return text.slice(0, 128).toWellFormed()
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
