import { useCallback } from 'preact/hooks'
import { get } from '../lib/api.ts'
import type { Overview } from '../lib/figures.ts'
import { useInterval, useResource } from '../lib/resource.ts'
import { route, setQuery } from '../lib/router.ts'
import { PageLayout, ResourceView } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { FirstRun } from './first-run.tsx'
import { LiveOverview } from './live-overview.tsx'
import { OverviewFigures } from './overview-figures.tsx'
import { StatusPanels } from './status-panels.tsx'

const RANGES = ['live', '1h', '24h', '7d'] as const

const REFRESH_MS = 10_000

/** What happens now and happened lately, and what needs attention. */
export function OverviewPage() {
  const range = route.value.query.get('range') ?? '1h'
  return (
    <PageLayout
      title="Overview"
      actions={
        <Tabs label="Period" tabs={RANGES} current={range} onSelect={(range) => setQuery({ range })} />
      }
    >
      <FirstRun />
      {range === 'live' ? <LiveOverview /> : <PastOverview range={range} />}
      <StatusPanels />
    </PageLayout>
  )
}

function PastOverview({ range }: { readonly range: string }) {
  const overview = useResource(range, () => get<Overview>('/admin/overview', { range }))
  useInterval(REFRESH_MS, useCallback(overview.reload, [range]))
  return <ResourceView resource={overview}>{(data) => <OverviewFigures {...data} />}</ResourceView>
}
