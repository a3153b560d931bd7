import { LRUCache } from 'lru-cache'

/**
 * Creates a cache of at most so many entries that drops the least recently used ones. Grows as it is filled,
 * while the `max` of `LRUCache` allocates for all entries when it is created.
 */
export function createBoundedCache<Key extends {}, Value extends {}>(
  maxEntries: number,
  dispose?: (value: Value, key: Key) => void,
): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({
    maxSize: maxEntries,
    sizeCalculation: () => 1,
    ...(dispose && { dispose }),
  })
}
