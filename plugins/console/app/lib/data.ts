import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, endpointUrl, get, type Query, toError } from './api.ts'
import { isDisconnected, reconnections } from './connection.ts'
import type { RequestRecord } from './schemas.ts'
import { hasSessionEnded } from './session.ts'

/** Data of the gateway, as a page shows it. After a failed reload, the old data stays beside the error. */
export interface Resource<Data> {
  readonly data: Data | undefined
  readonly error: ApiError | undefined
  readonly isLoading: boolean
  reload(): void
}

/** Loads data when the page opens, and again when `key` changes. */
export function useResource<Data>(key: string, load: () => Promise<Data>): Resource<Data> {
  const [state, setState] = useState<Omit<Resource<Data>, 'reload'> & { key: string }>({
    key,
    data: undefined,
    error: undefined,
    isLoading: true,
  })
  const latest = useRef(0)
  const run = useCallback(() => {
    latest.current += 1
    const call = latest.current
    setState((old) => ({ ...old, key, data: old.key === key ? old.data : undefined, isLoading: true }))
    load().then(
      (data) => {
        if (call === latest.current) setState({ key, data, error: undefined, isLoading: false })
      },
      (thrown: unknown) => {
        if (call === latest.current) setState((old) => ({ ...old, error: toError(thrown), isLoading: false }))
      },
    )
  }, [key])
  useEffect(run, [run])
  return { ...state, reload: run }
}

/** Loads `data` of an endpoint; every `refreshMs`, if it is given. */
export function useData<Data>(path: string, query: Query = {}, refreshMs?: number): Resource<Data> {
  const resource = useResource(endpointUrl(path, query), () => get<Data>(path, query))
  useInterval(refreshMs, resource.reload)
  return resource
}

/** Calls `run` every `ms` while the page is visible, somebody is signed in, and the gateway responds. */
export function useInterval(ms: number | undefined, run: () => void): void {
  useEffect(() => {
    if (ms === undefined) return
    const timer = setInterval(() => {
      const isIdle = hasSessionEnded.value || isDisconnected.value
      if (document.visibilityState === 'visible' && !isIdle) run()
    }, ms)
    return () => clearInterval(timer)
  }, [ms, run])
}

/** Something that the page starts: whether it runs, and why it failed the last time. */
export function useAction<Params extends readonly unknown[]>(run: (...params: Params) => Promise<unknown>) {
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const start = (...params: Params): void => {
    setBusy(true)
    setError(undefined)
    run(...params)
      .catch((thrown: unknown) => setError(toError(thrown)))
      .finally(() => setBusy(false))
  }
  return { start, error, isBusy }
}

export type LiveState = 'connecting' | 'live' | 'refused'

/**
 * Receives the requests that end from now on. The browser connects again when the stream breaks, but not when
 * it is refused, such as for too many viewers.
 */
export function useLiveRequests(filters: Query, receive: (record: RequestRecord) => void): LiveState {
  const [state, setState] = useState<LiveState>('connecting')
  const url = endpointUrl('/admin/live', filters)
  useEffect(() => {
    const source = new EventSource(url)
    setState('connecting')
    source.onopen = () => setState('live')
    source.onerror = () => setState(source.readyState === EventSource.CLOSED ? 'refused' : 'connecting')
    source.addEventListener('request', ({ data }) => receive(JSON.parse(data) as RequestRecord))
    return () => source.close()
    // A proxy refuses streams in place of a gateway that restarts, and the gateway those of ended sessions.
  }, [url, reconnections.value, hasSessionEnded.value])
  return state
}
