/**
 * Returns the field of the canonical request that a provider's format has at a path, such as
 * `messages.0.content`. `names` holds the canonical fields by path, without indexes; the longest path that
 * the given one begins with counts. Places in lists are left out, because conversions move them.
 */
export function findParam(path: string, names: ReadonlyMap<string, string>): string | undefined {
  const plain = path.replace(/\[\d+\]|\.\d+(?=\.|$)/g, '')
  for (let end = plain.length; end > 0; end = plain.lastIndexOf('.', end - 1)) {
    const name = names.get(plain.slice(0, end))
    if (name !== undefined) return name
  }
  return undefined
}
