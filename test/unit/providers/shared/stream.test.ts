import { expect } from 'chai'
import { peekFirst } from '../../../../providers/shared/stream.ts'

async function collect<T>(items: AsyncIterable<T> | undefined): Promise<T[]> {
  const list: T[] = []
  for await (const item of items ?? []) list.push(item)
  return list
}

describe('peekFirst', () => {
  it('returns all items, including the first', async () => {
    expect(await collect(await peekFirst(countTo(3)))).to.deep.equal([1, 2, 3])
  })

  it('resolves to undefined for an empty source', async () => {
    expect(await peekFirst(countTo(0))).to.equal(undefined)
  })

  it('reads only the first item until the iteration starts', async () => {
    const seen: number[] = []
    await peekFirst(countTo(3, seen))
    expect(seen).to.deep.equal([1])
  })

  it('stops the source if the reader stops before the first item', async () => {
    const seen: number[] = []
    const items = await peekFirst(countTo(3, seen))
    await items?.[Symbol.asyncIterator]().return?.()
    expect(seen).to.deep.equal([1, -1])
  })

  it('stops the source if the reader stops half-way', async () => {
    const seen: number[] = []
    for await (const item of (await peekFirst(countTo(3, seen))) ?? []) if (item === 2) break
    expect(seen).to.deep.equal([1, 2, -1])
  })

  it('rejects if the source fails before the first item', async () => {
    const failed = await peekFirst(fail()).catch((error: Error) => error.message)
    expect(failed).to.equal('no first item')
  })
})

/** Records the items it yields, and -1 when it ends. */
async function* countTo(last: number, seen: number[] = []): AsyncGenerator<number> {
  try {
    for (let n = 1; n <= last; n++) {
      seen.push(n)
      yield n
    }
  } finally {
    seen.push(-1)
  }
}

// biome-ignore lint/correctness/useYield: it throws first
async function* fail(): AsyncGenerator<number> {
  throw new Error('no first item')
}
