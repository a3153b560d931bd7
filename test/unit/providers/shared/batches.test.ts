import { expect } from 'chai'
import { peek } from '../../../../providers/shared/batches.ts'

async function collect<T>(items: AsyncIterable<T> | undefined): Promise<T[]> {
  const list: T[] = []
  for await (const item of items ?? []) list.push(item)
  return list
}

describe('peeking at a source', () => {
  it('gives every item, the awaited first one too', async () => {
    expect(await collect(await peek(countTo(3)))).to.deep.equal([1, 2, 3])
  })

  it('gives undefined for an empty source', async () => {
    expect(await peek(countTo(0))).to.equal(undefined)
  })

  it('reads no further than the first item until it is asked to', async () => {
    const seen: number[] = []
    await peek(countTo(3, seen))
    expect(seen).to.deep.equal([1])
  })

  it('stops the source when the reader leaves before the first item', async () => {
    const seen: number[] = []
    const items = await peek(countTo(3, seen))
    await items?.[Symbol.asyncIterator]().return?.()
    expect(seen).to.deep.equal([1, -1])
  })

  it('stops the source when the reader leaves half-way', async () => {
    const seen: number[] = []
    for await (const item of (await peek(countTo(3, seen))) ?? []) if (item === 2) break
    expect(seen).to.deep.equal([1, 2, -1])
  })

  it('rejects when the source fails first', async () => {
    const failed = await peek(fail()).catch((error: Error) => error.message)
    expect(failed).to.equal('no first item')
  })
})

/** Notes what it gives, and -1 when it ends. */
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

// biome-ignore lint/correctness/useYield: it fails before it could
async function* fail(): AsyncGenerator<number> {
  throw new Error('no first item')
}
