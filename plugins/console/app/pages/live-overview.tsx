import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { endpointUrl, get, send } from '../lib/api.ts'
import { type Overview, toLiveFigures } from '../lib/figures.ts'
import { useLiveRequests } from '../lib/live.ts'
import { useInterval, useResource } from '../lib/resource.ts'
import type { Page, RequestRecord } from '../lib/types.ts'
import { LiveBadge } from '../ui/live-badge.tsx'
import { ResourceView } from '../ui/page.tsx'
import { OverviewFigures } from './overview-figures.tsx'

const STEP_MS = 5000
const STEPS = 60
const CHANGES_MS = 10_000

/** The last five minutes, by the requests as they end. */
export function LiveOverview() {
  const start = useResource('live', async () => {
    const since = new Date(Date.now() - STEPS * STEP_MS).toISOString()
    const page = await send<Page<RequestRecord>>(
      'GET',
      endpointUrl('/admin/requests', { since, limit: 1000 }),
    )
    return page.data
  })
  return <ResourceView resource={start}>{(records) => <Live earlier={records} />}</ResourceView>
}

function Live({ earlier }: { readonly earlier: readonly RequestRecord[] }) {
  const records = useRef(new Map(earlier.map((record) => [record.x_request_id, record])))
  const [now, setNow] = useState(Date.now)
  const changes = useResource('changes', () => get<Overview>('/admin/overview', { range: '1h' }))
  useInterval(CHANGES_MS, useCallback(changes.reload, []))
  const state = useLiveRequests({}, (record) => records.current.set(record.x_request_id, record))
  useEffect(() => {
    const timer = setInterval(() => {
      const oldest = Date.now() - (STEPS + 1) * STEP_MS
      for (const [id, { time }] of records.current) if (Date.parse(time) < oldest) records.current.delete(id)
      setNow(Date.now())
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  const figures = toLiveFigures([...records.current.values()], { now, stepMs: STEP_MS, steps: STEPS })
  return (
    <>
      <p>
        <LiveBadge state={state} /> <span class="muted">The last five minutes, by 5 seconds.</span>
      </p>
      <OverviewFigures {...figures} changes={changes.data?.changes ?? []} />
    </>
  )
}
