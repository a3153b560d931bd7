import { type ComponentChildren, toChildArray } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ApiError } from '../lib/api.ts'
import { reconnections } from '../lib/connection.ts'
import type { Resource } from '../lib/data.ts'
import { route } from '../lib/router.ts'

interface PageProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** Links in a line. Those that are false are left out. */
export function Links({ children }: { readonly children: ComponentChildren }) {
  return <p>{toChildArray(children).map((link, index) => (index === 0 ? link : [' · ', link]))}</p>
}

/** A page with its heading, which is also the title of the window. */
export function PageLayout({ title, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Signalbox`
  }, [title])
  return (
    <>
      <header class="page-header">
        <h1>{title}</h1>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </>
  )
}

interface ViewProps<Data> {
  readonly resource: Resource<Data>
  readonly children: (data: Data) => ComponentChildren
}

/** Shows data, or that it is loading, or why it could not be loaded. */
export function ResourceView<Data>({ resource, children }: ViewProps<Data>) {
  const { data, error, isLoading, reload } = resource
  return (
    <>
      {error && <ErrorMessage error={error} retry={reload} />}
      {data === undefined && !error && isLoading && <Loading />}
      {data !== undefined && children(data)}
    </>
  )
}

interface ResourcePageProps<Data> extends ViewProps<Data> {
  /** The heading until the data is there, which then brings its own page. */
  readonly title: string
}

/** A page about one object: it has a heading also while it is loading, and if it cannot be loaded. */
export function ResourcePage<Data>({ title, resource, children }: ResourcePageProps<Data>) {
  if (resource.data !== undefined) return <ResourceView resource={resource}>{children}</ResourceView>
  return (
    <PageLayout title={title}>
      <ResourceView resource={resource}>{children}</ResourceView>
    </PageLayout>
  )
}

/** Lines in place of what is still loading. */
export function Loading() {
  return (
    <div class="loading skeleton" role="status">
      <span class="hidden">Loading…</span>
      {[1, 2, 3, 4, 5].map((line) => (
        <i key={line} />
      ))}
    </div>
  )
}

/** With `retry`, it is called by itself once the gateway has come back. */
export function ErrorMessage({ error, retry }: { readonly error: ApiError; readonly retry?: () => void }) {
  const shownAt = useRef(reconnections.value)
  useEffect(() => {
    if (shownAt.current === reconnections.value) return
    shownAt.current = reconnections.value
    retry?.()
  }, [reconnections.value])
  const issues = Object.entries(error.issues).filter(([, texts]) => !texts.includes(error.message))
  return (
    <div class="notice error" role="alert">
      <p>{error.message}</p>
      {issues.length > 0 && (
        <ul>
          {issues.map(([field, texts]) => (
            <li key={field}>
              <code>{field}</code>: {texts.join(' ')}
            </li>
          ))}
        </ul>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

interface PanelProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Panel({ title, actions, children }: PanelProps) {
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </section>
  )
}

interface TabsProps<Tab extends string> {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly current: string
  readonly onSelect: (tab: Tab) => void
}

/** A choice between a few views. */
export function Tabs<Tab extends string>({ label, tabs, current, onSelect }: TabsProps<Tab>) {
  return (
    <fieldset class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <button key={tab} type="button" aria-pressed={tab === current} onClick={() => onSelect(tab)}>
          {tab}
        </button>
      ))}
    </fieldset>
  )
}

/**
 * Returns the props of an element that has an address: a page whose parameter has the id scrolls to it and
 * marks it.
 */
export function useAddress<Kind extends HTMLElement>(parameter: string, id: string) {
  const ref = useRef<Kind>(null)
  const isCurrent = route.value.query.get(parameter) === id
  useEffect(() => {
    if (isCurrent) ref.current?.scrollIntoView({ block: 'center' })
  }, [isCurrent])
  return { ref, 'aria-current': isCurrent ? ('true' as const) : undefined }
}
