import type { IconNode } from 'lucide'
import { h } from 'preact'

/** An icon beside a text, which names it. */
export function Icon({ shapes }: { readonly shapes: IconNode }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {shapes.map(([element, attributes]) => h(element, attributes))}
    </svg>
  )
}
