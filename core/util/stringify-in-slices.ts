import { createCooperativeYield, MIN_ITEMS_FOR_OWN_TURN } from './cooperative-yield.ts'

/** Lists that are nested deeper are encoded together with what they are in. */
const MAX_DEPTH = 5

/** Whether a value of an answer has a list that takes long to encode. */
export function hasLongList(value: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  if (Array.isArray(value))
    return value.length >= MIN_ITEMS_FOR_OWN_TURN || value.some((item) => hasLongList(item, depth + 1))
  return isPlainObject(value) && Object.values(value).some((item) => hasLongList(item, depth + 1))
}

/** As `JSON.stringify`, for objects and lists, in time slices. What follows has a turn of its own. */
export async function stringifyInSlices(value: object): Promise<string> {
  const slice = createCooperativeYield()
  const pieces: string[] = []

  async function write(value: unknown, depth: number): Promise<void> {
    if (slice.isDue()) await slice.yieldNow()
    if (!hasLongList(value, depth)) pieces.push(JSON.stringify(value) ?? 'null')
    else if (Array.isArray(value)) await writeList(value, depth)
    else await writeObject(value as object, depth)
  }

  async function writeList(list: readonly unknown[], depth: number): Promise<void> {
    let separator = '['
    for (const item of list) {
      pieces.push(separator)
      await write(item, depth + 1)
      separator = ','
    }
    pieces.push(']')
  }

  async function writeObject(value: object, depth: number): Promise<void> {
    let separator = '{'
    for (const [name, item] of Object.entries(value)) {
      // As in `JSON.stringify`, what is no JSON is left out.
      if (item === undefined || typeof item === 'function' || typeof item === 'symbol') continue
      pieces.push(`${separator}${JSON.stringify(name)}:`)
      await write(item, depth + 1)
      separator = ','
    }
    pieces.push(separator === '{' ? '{}' : '}')
  }

  await slice.yieldNow()
  await write(value, 0)
  await slice.yieldNow()
  return pieces.join('')
}

/** Others may say themselves how they are encoded. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
