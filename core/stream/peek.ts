/**
 * Awaits the first item of a source and gives back an iterable of that item and all that follow, to be read once;
 * undefined when the source is empty. Rejects when the source fails first. Stopping early stops the source.
 */
export async function peek<T>(source: AsyncGenerator<T>): Promise<AsyncIterable<T> | undefined> {
  const first = await source.next()
  return first.done ? undefined : { [Symbol.asyncIterator]: () => replay(first, source) }
}

/** Not a generator: one that was never started does not pass `return` on. */
function replay<T>(first: IteratorResult<T>, source: AsyncGenerator<T>): AsyncIterator<T> {
  let isFirst = true
  return {
    async next() {
      if (!isFirst) return source.next()
      isFirst = false
      return first
    },
    return: () => source.return(undefined),
  }
}
