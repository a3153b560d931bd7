import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

interface PopupState {
  /** Of the element around the button and what it opens. */
  readonly root: RefObject<HTMLDivElement | null>
  readonly button: RefObject<HTMLButtonElement | null>
  readonly isOpen: boolean
  toggle(): void
  /** Closes it, and returns the focus to the button. */
  close(): void
}

/** What a button opens below it. Escape and a click elsewhere close it. */
export function usePopup(): PopupState {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  useEffect(() => {
    if (!isOpen) return
    const chosen = '[aria-pressed="true"], .popup :is(button, input)'
    root.current?.querySelector<HTMLElement>(chosen)?.focus()
    const closeOutside = ({ target }: Event) => {
      if (!root.current?.contains(target as Node)) setOpen(false)
    }
    const closeByKey = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') close()
    }
    addEventListener('pointerdown', closeOutside)
    addEventListener('keydown', closeByKey)
    return () => {
      removeEventListener('pointerdown', closeOutside)
      removeEventListener('keydown', closeByKey)
    }
  }, [isOpen])
  return { root, button, isOpen, toggle: () => setOpen(!isOpen), close }
}

interface PopupButtonProps {
  readonly label: string
  readonly children: (close: () => void) => ComponentChildren
}

/** A button that opens a small dialog below it. */
export function PopupButton({ label, children }: PopupButtonProps) {
  const { root, button, isOpen, toggle, close } = usePopup()
  return (
    <div ref={root} class="popup-button">
      <button ref={button} type="button" aria-haspopup="dialog" aria-expanded={isOpen} onClick={toggle}>
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div class="popup" role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  )
}
