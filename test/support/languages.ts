import { readVectors } from './vectors.ts'

/** Texts by language: what people ask models for. */
export const PROSE = readVectors<Readonly<Record<string, string>>>('prose')

/** Sources in five languages, and other machine-readable texts. */
export const CODE: Readonly<Record<string, string>> = {
  TypeScript: `export async function loadOrders(client: Client, { since, limit = 50 }: Query): Promise<Order[]> {
  const orders: Order[] = []
  let cursor: string | undefined
  do {
    const page = await client.get<OrderPage>('/v2/orders', { query: { since, cursor, limit } })
    for (const item of page.items) {
      if (item.status === 'cancelled') continue
      orders.push({ ...item, total: item.lines.reduce((sum, line) => sum + line.price * line.count, 0) })
    }
    cursor = page.nextCursor
  } while (cursor !== undefined && orders.length < limit)
  return orders.sort((a, b) => b.createdAt - a.createdAt)
}
`,
  Python: `class RetryPolicy:
    """Retries a call with exponential backoff and jitter."""

    def __init__(self, attempts=5, base_delay=0.2, max_delay=30.0):
        self.attempts = attempts
        self.base_delay = base_delay
        self.max_delay = max_delay

    def run(self, func, *args, **kwargs):
        for attempt in range(self.attempts):
            try:
                return func(*args, **kwargs)
            except (ConnectionError, TimeoutError) as error:
                if attempt + 1 == self.attempts:
                    raise
                delay = min(self.max_delay, self.base_delay * 2 ** attempt)
                logger.warning("attempt %d failed: %s", attempt + 1, error)
                time.sleep(delay * random.uniform(0.5, 1.5))
`,
  Go: `func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(value) > maxValueSize {
		return fmt.Errorf("value of %q has %d bytes, more than %d", key, len(value), maxValueSize)
	}
	entry := &Entry{Key: key, Value: append([]byte(nil), value...), UpdatedAt: time.Now()}
	if err := s.log.Append(ctx, entry); err != nil {
		return fmt.Errorf("append %q: %w", key, err)
	}
	s.entries[key] = entry
	return nil
}
`,
  SQL: `SELECT c.id, c.name, COUNT(o.id) AS orders, SUM(o.total_cents) / 100.0 AS revenue
FROM customers AS c
LEFT JOIN orders AS o ON o.customer_id = c.id AND o.created_at >= DATE '2026-01-01'
WHERE c.country IN ('DE', 'FR', 'ES') AND c.deleted_at IS NULL
GROUP BY c.id, c.name
HAVING SUM(o.total_cents) > 250000
ORDER BY revenue DESC
LIMIT 20;
`,
  HTML: `<form class="order" method="post" action="/orders">
  <label for="email">Email address</label>
  <input id="email" name="email" type="email" required autocomplete="email">
  <ul class="lines">
    <li data-sku="A-1042"><span class="name">Blue enamel mug</span> <b>2 × 9.50 €</b></li>
    <li data-sku="B-0007"><span class="name">Tea towel, linen</span> <b>1 × 14.00 €</b></li>
  </ul>
  <button type="submit" class="primary">Place order</button>
</form>
`,
  JSON: JSON.stringify({
    orders: Array.from({ length: 6 }, (_, index) => ({
      id: 48_210 + index * 37,
      customer: {
        name: ['Ada Byron', 'Grace Murray', 'Alan Kay'][index % 3],
        email: `buyer${index}@example.com`,
      },
      lines: [{ sku: `A-10${index}2`, count: index + 1, price: 9.5 + index }],
      shipped: index % 2 === 0,
      createdAt: `2026-03-1${index}T08:2${index}:41.120Z`,
    })),
  }),
}
