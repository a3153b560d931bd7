/** A list of texts as one text. Sending tens of thousands of strings to a thread takes ten times as long. */
export interface PackedTexts {
  readonly joined: string
  readonly lengths: Uint32Array
}

export function packTexts(texts: readonly string[]): PackedTexts {
  const lengths = new Uint32Array(texts.length)
  for (let index = 0; index < texts.length; index++) lengths[index] = texts[index]?.length ?? 0
  return { joined: texts.join(''), lengths }
}

export function unpackTexts({ joined, lengths }: PackedTexts): readonly string[] {
  const texts: string[] = []
  let start = 0
  for (const length of lengths) {
    texts.push(joined.slice(start, start + length))
    start += length
  }
  return texts
}
