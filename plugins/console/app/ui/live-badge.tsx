import type { LiveState } from '../lib/live.ts'
import { Badge, type Tone } from './values.tsx'

const STATES: Readonly<Record<LiveState, readonly [Tone, string]>> = {
  live: ['good', 'live'],
  connecting: ['warn', 'connecting'],
  refused: ['bad', 'refused: too many viewers, or the session has ended'],
}

export function LiveBadge({ state }: { readonly state: LiveState }) {
  const [tone, text] = STATES[state]
  return <Badge tone={tone}>{text}</Badge>
}
