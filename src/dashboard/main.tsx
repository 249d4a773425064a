// The page's entry: mounts the dashboard. Everything it shows is fetched with the token that a person gives it (D20).
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'
import './styles/page.css'
import './styles/controls.css'
import './styles/tables.css'
import './styles/parts.css'
import { App } from './app.tsx' // After the styles: those of a place come later and win.

const root = document.querySelector('#root')
if (root === null) throw new TypeError('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
