import { isJsonObject } from '../../../core/contract/index.ts'

/** Builds a set of field names from a list separated by white space. */
export function fieldSet(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/))
}

/** Returns the first field of an object that is not known, or undefined. Other values have no fields. */
export function findUnknownField(value: unknown, knownFields: ReadonlySet<string>): string | undefined {
  return isJsonObject(value) ? Object.keys(value).find((name) => !knownFields.has(name)) : undefined
}
