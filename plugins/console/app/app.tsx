import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ApiError } from './lib/api.ts'
import { loadNames } from './lib/names.ts'
import { toError } from './lib/resource.ts'
import { href, route } from './lib/router.ts'
import { isOperator, session } from './lib/session.ts'
import { loadSession, signOut } from './lib/sign-in.ts'
import { pages } from './pages/pages.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { Empty, ErrorMessage, Loading, PageLayout } from './ui/page.tsx'

/** The console: the sign-in, or the navigation with the page that the address names. */
export function App() {
  const [error, setError] = useState<ApiError>()
  const current = session.value
  const load = () => {
    setError(undefined)
    loadSession().catch((thrown: unknown) => setError(toError(thrown)))
  }
  useEffect(load, [])
  useEffect(() => {
    if (current && isOperator()) loadNames().catch(() => undefined)
  }, [current?.id])

  if (error) return <ErrorMessage error={error} retry={load} />
  if (current === undefined) return <Loading />
  if (current === null) return <SignIn />
  return (
    <Shell>
      <CurrentPage />
    </Shell>
  )
}

function CurrentPage() {
  const { path } = route.value
  const [name = isOperator() ? 'overview' : 'requests', ...rest] = path
  const page = pages.find((candidate) => candidate.path === name)
  if (page === undefined || !page.isFor(isOperator())) {
    return (
      <PageLayout title="Not found">
        <Empty>
          There is no such page for you. <a href={href('/')}>Go to the start.</a>
        </Empty>
      </PageLayout>
    )
  }
  const Content = page.content
  return <Content key={path.join('/')} path={rest} />
}

function Shell({ children }: { readonly children: ComponentChildren }) {
  const current = session.value
  const [first = isOperator() ? 'overview' : 'requests'] = route.value.path
  const nav = useRef<HTMLElement>(null)
  // On a phone, the pages are a line that scrolls.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [first])
  const links = pages.filter(({ title, isFor }) => title !== undefined && isFor(isOperator()))
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <aside>
        <a class="brand" href={href('/')}>
          <img src={new URL('./icon.svg', import.meta.url).href} alt="" width="24" height="24" /> Signalbox
        </a>
        <nav ref={nav} aria-label="Pages">
          {links.map(({ path, title }) => (
            <a key={path} href={href(`/${path}`)} aria-current={path === first ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="account">
          <span>
            {current?.name} <small class="muted">{current?.role ?? current?.plan}</small>
          </span>
          <button type="button" class="quiet" onClick={() => signOut().catch(() => undefined)}>
            Sign out
          </button>
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}
