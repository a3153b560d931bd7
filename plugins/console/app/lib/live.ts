import { useEffect, useState } from 'preact/hooks'
import { endpointUrl } from './api.ts'
import type { RequestRecord } from './types.ts'

export type LiveState = 'connecting' | 'live' | 'refused'

/**
 * Receives the requests that end from now on. The browser connects again when the stream breaks, but not when
 * it is refused, such as for too many viewers.
 */
export function useLiveRequests(
  filters: Readonly<Record<string, string | undefined>>,
  receive: (record: RequestRecord) => void,
): LiveState {
  const [state, setState] = useState<LiveState>('connecting')
  const url = endpointUrl('/admin/live', filters)
  useEffect(() => {
    const source = new EventSource(url)
    setState('connecting')
    source.onopen = () => setState('live')
    source.onerror = () => setState(source.readyState === EventSource.CLOSED ? 'refused' : 'connecting')
    source.addEventListener('request', ({ data }) => receive(JSON.parse(data) as RequestRecord))
    return () => source.close()
  }, [url])
  return state
}
