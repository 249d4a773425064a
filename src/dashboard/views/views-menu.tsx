/** @module dashboard/views/views-menu  Lists the saved views of a page, and saves the present one. */
import { Menu } from '../components/menu.tsx'
import { useRoute } from '../use-route.ts'
import { formatRoute } from '../route.ts'
import { SaveViewForm } from './save-view-form.tsx'
import { removeView, useSavedViews } from './use-saved-views.ts'

/** @property start Beginning of the addresses of the page, such as `#/workers`. */
export function ViewsMenu({ start }: { readonly start: string }) {
  const views = useSavedViews().filter(({ hash }) => hash.startsWith(start))
  const hash = formatRoute(useRoute())
  return (
    <Menu name={views.length === 0 ? 'Views' : `Views (${views.length})`}>
      {views.length > 0 && (
        <ul aria-label="Saved views" className="saved-views">
          {views.map((view) => (
            <li key={view.name}>
              <a href={view.hash} aria-current={view.hash === hash ? 'page' : undefined}>
                <bdi>{view.name}</bdi>
              </a>
              <button
                type="button"
                className="quiet"
                aria-label={`Remove the view ${view.name}`}
                onClick={() => removeView(view.name)}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <SaveViewForm />
    </Menu>
  )
}
